// How a type test says what it expects: expectType<number>()(value) compiles only if value is exactly a number.

type Same<A, B> =
  (<X>() => X extends A ? 1 : 2) extends <X>() => X extends B ? 1 : 2 ? [] : [expected: A, but: B]

export function expectType<Expected>(): <Actual>(value: Actual, ...differs: Same<Expected, Actual>) => void {
  return () => {}
}
