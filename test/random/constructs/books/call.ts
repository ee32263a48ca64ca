// The book of calls: an answer that was accepted arrives.

import { call as ask, type Call, type Fiber, isStop, type Routine } from 'polyphony'
import { answerTo } from '../shop.js'
import { Book } from './book.js'

/** Calls and their answers. */
export class CallBook extends Book {
  /** Questions whose answer was accepted and has not arrived. */
  private readonly due = new Set<unknown>()
  private readonly answered = new Set<unknown>()

  private arrives(question: string): void {
    this.expect(this.due.delete(question), 'S39', `${question} has an answer that nobody gave`)
  }
  *ask(fiber: Fiber, question: string, options?: { timeout: number }): Routine<unknown> {
    try {
      const answer = yield* this.desk.wait('observe', ask(fiber, question, options))
      this.expect(answer === answerTo(question), 'S39', `${answer} is no answer to ${question}`)
      this.arrives(question)
      return answer
    } catch (thrown) {
      if (this.due.has(question) && !isStop(thrown)) this.arrives(question)
      throw thrown
    }
  }
  answers(question: Call, isAccepted: boolean): void {
    if (!isAccepted) return
    this.expect(!this.answered.has(question.message), 'S39', `${question.message} was answered twice`)
    this.answered.add(question.message)
    this.due.add(question.message)
  }
  /** The question with an ear for its answer. */
  overheard(question: Call): Call {
    const book = this
    return {
      message: question.message,
      reply(answer: unknown) {
        const isAccepted = question.reply(answer)
        book.answers(question, isAccepted)
        return isAccepted
      },
      fail(error: unknown) {
        const isAccepted = question.fail(error)
        book.answers(question, isAccepted)
        return isAccepted
      },
    } as unknown as Call
  }

  quiet(): void {
    for (const question of this.due) this.expect(false, 'S34', `the answer to ${question} was lost`)
    this.due.clear()
  }
  end(): void {
    this.quiet()
  }
}
