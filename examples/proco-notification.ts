// One mail instead of many: what happens to a person within the interval is told in one mail.

import { main, type Routine, sleep } from 'polyphony'
import { Proco } from 'polyphony/proco'

interface Note {
  person: string
  text: string
}

const sent: string[] = []
function* sendMail(person: string, texts: string[]): Routine<void> {
  yield* sleep(1) // stands for the mail server
  sent.push(`to ${person}: ${texts.join('; ')}`)
}

main(function* () {
  // All notes to a person have the same key. So they go through the same queue, in order, and the next mail to that person
  // is not begun before the last one is sent.
  const mails = Proco.interval(30).batch(true).queues(4).threads(4).new<Note>()

  mails.start(function* (notes) {
    const people = new Map<string, string[]>()
    for (const { person, text } of notes) people.set(person, [...(people.get(person) ?? []), text])
    for (const [person, texts] of people) yield* sendMail(person, texts)
  })
  const notify = (person: string, text: string) => mails.submitAsync({ person, text }, { key: person })

  const morning = [
    yield* notify('ann', 'bob likes your photo'),
    yield* notify('ann', 'cho likes your photo'),
    yield* notify('bob', 'ann wrote to you'),
    yield* notify('ann', 'dan wrote to you'),
  ]
  for (const note of morning) yield* note.get() // goes on when its mail is sent
  console.log('in the morning', sent.splice(0).sort()) // who is first is a matter of luck

  yield* notify('bob', 'ann wrote again')
  yield* notify('bob', 'cho wrote to you')
  yield* mails.exit() // sends what is left, without waiting for the interval
  console.log('in the evening', sent)
})
