// A guest around KafkaConsumer of node-rdkafka, which is librdkafka in C (docs/guests.md).
//
// The client shows no position until a record comes. A partition without one has that of its end,
// which is an event (enable.partition.eof). It shows no leader epoch, and not what a commit stored.

import { createRequire } from 'node:module'
import { promisify } from 'node:util'
import { Failure, RECORDS_MAX, log, serve } from './lines.mjs'

const require = createRequire(import.meta.url)
const { CODES, KafkaConsumer } = require('node-rdkafka')

const {
  ERR__ALL_BROKERS_DOWN, ERR__ASSIGN_PARTITIONS, ERR__MAX_POLL_EXCEEDED, ERR__NO_OFFSET, ERR__TRANSPORT,
  ERR_ILLEGAL_GENERATION, ERR_LEADER_NOT_AVAILABLE, ERR_NOT_LEADER_FOR_PARTITION,
  ERR_REBALANCE_IN_PROGRESS, ERR_UNKNOWN_MEMBER_ID, ERR_UNKNOWN_TOPIC_OR_PART,
} = CODES.ERRORS
// librdkafka tries again after these, or joins its group again at the next poll.
const HANDLED = [
  ERR__ALL_BROKERS_DOWN, ERR__MAX_POLL_EXCEEDED, ERR__TRANSPORT, ERR_LEADER_NOT_AVAILABLE,
  ERR_NOT_LEADER_FOR_PARTITION, ERR_UNKNOWN_TOPIC_OR_PART,
]
const REFUSALS = [ERR_ILLEGAL_GENERATION, ERR_REBALANCE_IN_PROGRESS, ERR_UNKNOWN_MEMBER_ID]
const NAMES = new Map(Object.entries(CODES.ERRORS).map(([name, code]) => [code, name]))

class Guest {
  #consumer
  #ends = new Map() // of partitions without a record yet
  #failure // behind records that were returned
  #rebalanced = false

  async open({ bootstrap, group, member, topic, reset, isolation, commit, settings }) {
    try {
      this.#consumer = new KafkaConsumer(
        {
          'bootstrap.servers': bootstrap,
          'group.id': group,
          'client.id': member,
          'isolation.level': isolation,
          'enable.auto.commit': commit === 'automatic',
          'enable.partition.eof': true,
          rebalance_cb: true,
          ...settings,
        },
        { 'auto.offset.reset': reset.replace('none', 'error') },
      )
      await promisify(this.#consumer.connect).call(this.#consumer, {})
    } catch (error) {
      throw named(error)
    }
    this.#consumer.on('rebalance', ({ code }, partitions) => {
      if (code !== ERR__ASSIGN_PARTITIONS) return
      for (const { partition } of partitions) this.#ends.delete(partition)
      this.#rebalanced ||= partitions.length > 0
    })
    this.#consumer.on('partition.eof', ({ partition, offset }) => this.#ends.set(partition, offset))
    this.#consumer.on('event.error', error => log(String(error)))
    this.#consumer.subscribe([topic])
    return this
  }

  async poll(timeoutMs) {
    const messages = this.#failure ? [] : await this.#consume(timeoutMs, 1)
    if (messages.length) messages.push(...(await this.#consume(0, RECORDS_MAX - 1)))
    if (this.#failure && !messages.length) {
      const failure = this.#failure
      this.#failure = undefined
      throw failure
    }
    const records = messages.map(({ partition, offset, value }) => (
      { partition, offset, value: value?.toString() ?? '' }
    ))
    const assigned = this.#consumer.assignments()
    const positions = this.#consumer.position(assigned).flatMap(({ partition, offset }) => {
      const at = offset >= 0 ? offset : this.#ends.get(partition)
      return at === undefined ? [] : [{ partition, offset: at }]
    })
    const rebalanced = this.#rebalanced
    this.#rebalanced = false
    return { records, assigned: assigned.map(one => one.partition), positions, rebalanced }
  }

  async #consume(timeoutMs, count) {
    this.#consumer.setDefaultConsumeTimeout(timeoutMs)
    try {
      return await promisify(this.#consumer.consume).call(this.#consumer, count)
    } catch (error) {
      if (!HANDLED.includes(error.code)) this.#failure = named(error)
      return []
    }
  }

  async commit() {
    try {
      this.#consumer.commitSync(null)
    } catch (error) {
      if (error.code === ERR__NO_OFFSET) return { committed: [] }
      throw named(error)
    }
    return {}
  }

  async close() {
    await promisify(this.#consumer.disconnect).call(this.#consumer)
    return {}
  }
}

/** Return an error with the name that the client's codes have. */
function named(error) {
  return new Failure(NAMES.get(error.code) ?? error.name, error.message, {
    definite: REFUSALS.includes(error.code) || undefined,
  })
}

serve('node-rdkafka', request => new Guest().open(request))
