// A crawler of a small site that fails now and then: ten pages at a time, fifty requests a second, a time limit and more
// tries for each page. It ends when it has seen enough: npm run example crawler 40.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  Cancel,
  cancelAfter,
  Event,
  forEach,
  main,
  once,
  Queue,
  race,
  retry,
  Throttler,
  until,
  use,
} from 'polyphony'

class HttpError extends Error {}

/** Each page leads to two others. At its first request every third is refused, and number 7 is never answered. */
function makeSite() {
  const known = new Set<number>()
  return createServer(({ url = '/' }, response) => {
    const page = Number(url.slice(1))
    const isNew = !known.has(page)
    known.add(page)
    if (isNew && page === 7) return
    if (isNew && page % 3 === 0) response.statusCode = 503
    response.end(`<a href="/${2 * page + 1}"> <a href="/${2 * page + 2}">`)
  })
}

function* get(url: string) {
  return yield* until(async (signal) => {
    const response = await fetch(url, { signal })
    if (!response.ok) throw new HttpError(`${response.status} for ${url}`)
    return response.text()
  })
}

function* crawl(site: string, wanted: number) {
  const paths = new Queue<string>({ name: 'paths' })
  const pace = new Throttler(50)
  const enough = new Event({ latch: true })
  const seen = new Set<string>()
  const done: string[] = []
  let failures = 0
  let open = 0

  function add(path: string) {
    if (seen.has(path)) return
    seen.add(path)
    open++
    paths.tryPush(path)
  }

  function* visit(path: string) {
    const attempt = () => pace.process(() => cancelAfter(500, () => get(site + path)))
    const text = yield* retry(attempt, {
      times: 5,
      backoff: { delay: 20, max: 200 },
      jitter: 0.5,
      when: (error) => {
        failures++
        return error instanceof HttpError || error instanceof Cancel
      },
    })
    done.push(path)
    if (done.length >= wanted) enough.signal()
    for (const [, link = ''] of text.matchAll(/href="(.*?)"/g)) add(link)
    if (--open === 0) paths.close() // it was a small site
  }

  add('/0')
  yield* race([() => forEach(paths, visit, { concurrency: 10 }), () => enough.await()])
  return { pages: done.slice(0, wanted), failures }
}

main(function* () {
  const server = makeSite().listen(0)
  yield* use(server, () => {
    server.close()
    server.closeAllConnections()
  })
  yield* once(server, 'listening')
  const { port } = server.address() as AddressInfo

  const { pages, failures } = yield* crawl(`http://localhost:${port}`, Number(process.argv[2] ?? 60))
  console.log(`${pages.length} pages, the first ${pages[0]}`)
  console.log(failures > 0 ? 'some had to be tried again' : 'all came at the first try')
})
