// The tool of these tests is itself tested: it must be able to fail.

import { expectType } from './equal.js'

expectType<number>()(1 as number)
// @ts-expect-error: a string is not a number
expectType<number>()('one' as string)
// @ts-expect-error: any would hide everything
expectType<number>()(1 as any)
// @ts-expect-error: a union is not one of its members
expectType<number>()(1 as number | undefined)
