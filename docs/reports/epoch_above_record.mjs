// Does @platformatic/kafka commit a record with the leader epoch of its batch?
import { EventEmitter } from 'node:events'
import { readFileSync } from 'node:fs'

const dist = new URL('dist/', import.meta.resolve('@platformatic/kafka').replace('dist/', ''))
const { MessagesStream } = await import(new URL('index.js', dist))
const { kGetFetchNode } = await import(new URL('symbols.js', dist))
const { kCreateConnectionPool } = await import(new URL('clients/base/base.js', dist))

const [topic, BATCH_EPOCH, LEADER_EPOCH] = ['orders', 3, 5]
const record = { offsetDelta: 0, timestampDelta: 0n, key: null, value: null, headers: [] }
const batch = {
  firstOffset: 0n, lastOffsetDelta: 0, partitionLeaderEpoch: BATCH_EPOCH, attributes: 0,
  firstTimestamp: 0n, records: [record],
}
const responses = [{ topicId: 'id', partitions: [{ partitionIndex: 0, records: [batch] }] }]
const partitions = [{ leader: 1, leaderEpoch: LEADER_EPOCH }]
const committed = []
const consumer = Object.assign(new EventEmitter(), {
  assignments: [{ topic, partitions: [0] }], topics: { current: [topic] }, isActive: () => true,
  metadata: (_, done) => done(null, { topics: new Map([[topic, { id: 'id', partitions }]]) }),
  listOffsets: (_, done) => done(null, new Map([[topic, [0n]]])),
  fetch: (_, done) => setTimeout(() => done(null, { responses }), 1),
  commit: ({ offsets }, done) => { committed.push(...offsets); done(null) },
  [kGetFetchNode]: () => 1, [kCreateConnectionPool]: () => ({ close: done => done(null) }),
})
for (const autocommit of [true, false]) {
  const stream = new MessagesStream(consumer, { topics: [topic], mode: 'earliest', autocommit })
  const [message] = await stream.take(1).toArray()
  if (!autocommit) await message.commit()
  stream.destroy()
}
const above = committed.filter(one => one.leaderEpoch > BATCH_EPOCH).length
const { version } = JSON.parse(readFileSync(new URL('../package.json', dist)))
console.log(`@platformatic/kafka ${version}: ${above} of ${committed.length} commits with a newer epoch`)
process.exit()
