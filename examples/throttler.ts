// At most ten mails a second, whoever sends them. The argument is another rate.

import { main, scope, spin, Throttler } from 'polyphony'

const MAX_EMAIL_RATE = Number(process.argv[2] ?? 10)
const emailThrottler = new Throttler(MAX_EMAIL_RATE)

function sendEmail(address: string, content: string) {
  return emailThrottler.process(() => console.log(`to ${address}: ${content}`))
}

main(function* () {
  const begin = performance.now()
  yield* scope(() => {
    for (const content of ['welcome', 'news', 'goodbye']) {
      for (const address of ['ann', 'bob']) spin(sendEmail, address, content)
    }
  })
  const seconds = (performance.now() - begin) / 1000
  const { passed } = emailThrottler.stats()
  const isSlow = seconds >= (passed - 1) / MAX_EMAIL_RATE - 0.001
  console.log(`${passed} mails, ${isSlow ? 'no faster than' : 'faster than'} ${MAX_EMAIL_RATE} a second`)
})
