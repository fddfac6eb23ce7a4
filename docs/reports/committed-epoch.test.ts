// test/clients/consumer/committed-epoch.test.ts
import { deepStrictEqual } from 'node:assert'
import { EventEmitter } from 'node:events'
import { test } from 'node:test'
import type { CallbackWithPromise } from '../../../src/apis/callbacks.ts'
import { kCreateConnectionPool } from '../../../src/clients/base/base.ts'
import { MessagesStream, MessagesStreamModes } from '../../../src/index.ts'
import { kGetFetchNode } from '../../../src/symbols.ts'

const topic = 'test-topic'
const epochs = [3, 4] // of two batches of one record
const leaderEpoch = 5

function createBatch (partitionLeaderEpoch: number, i: number) {
  const record = { offsetDelta: 0, timestampDelta: 0n, key: null, value: null, headers: [] }
  const firstOffset = BigInt(i)
  return { firstOffset, lastOffsetDelta: 0, partitionLeaderEpoch, attributes: 0, firstTimestamp: 0n, records: [record] }
}

function createConsumerMock (committed: [bigint, number][]) {
  const consumer = new EventEmitter() as any
  consumer.assignments = [{ topic, partitions: [0] }]
  consumer.topics = { current: [topic] }
  consumer.isActive = () => true
  consumer[kGetFetchNode] = () => 1
  consumer[kCreateConnectionPool] = () => ({ close: (callback: CallbackWithPromise<void>) => callback(null) })
  consumer.metadata = (_: object, callback: CallbackWithPromise<any>) => {
    callback(null, { topics: new Map([[topic, { id: 'id', partitions: [{ leader: 1, leaderEpoch }] }]]) })
  }
  consumer.listOffsets = (_: object, callback: CallbackWithPromise<any>) => callback(null, new Map([[topic, [0n]]]))
  let fetches = 0
  consumer.fetch = (_: object, callback: CallbackWithPromise<any>) => {
    if (fetches++ > 0) return
    const partition = { partitionIndex: 0, records: epochs.map(createBatch) }
    setImmediate(() => callback(null, { responses: [{ topicId: 'id', partitions: [partition] }] }))
  }
  consumer.commit = ({ offsets }: any, callback: CallbackWithPromise<void>) => {
    for (const { offset, leaderEpoch } of offsets) committed.push([offset, leaderEpoch])
    callback(null)
  }
  return consumer
}

for (const autocommit of [true, false]) {
  test(`should commit with the leader epoch of the batch, autocommit: ${autocommit}`, async t => {
    const committed: [bigint, number][] = []
    const consumer = createConsumerMock(committed)
    const stream = new MessagesStream<any, any, any, any>(consumer, {
      topics: [topic],
      mode: MessagesStreamModes.EARLIEST,
      autocommit
    })
    t.after(() => stream.destroy())

    let read = 0
    for await (const message of stream) {
      if (!autocommit) await message.commit()
      if (++read === epochs.length) break
    }

    deepStrictEqual(committed, autocommit ? [[2n, 4]] : [[1n, 3], [2n, 4]])
  })
}
