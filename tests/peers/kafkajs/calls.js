// What KafkaJS asks of a broker, call by call. Prints a line of JSON for each: how it ended.

import { CompressionTypes, ConfigResourceTypes, Kafka, logLevel } from "npm:kafkajs@2.2.4";

const kafka = new Kafka({
  clientId: "calls",
  brokers: [Deno.args[0]],
  logLevel: logLevel.NOTHING,
  retry: { retries: 3 },
});
const admin = kafka.admin();
const TOPIC = "kafkajs";
const GROUP = "kafkajs-readers";

function wanted(found, expected) {
  const [left, right] = [found, expected].map((each) => JSON.stringify(each));
  if (left !== right) throw new Error(`found ${left}, wanted ${right}`);
}

async function produced(options, send) {
  const producer = kafka.producer({ allowAutoTopicCreation: false, ...options });
  await producer.connect();
  try {
    return await send(producer);
  } finally {
    await producer.disconnect();
  }
}

// The values of as many records, read by a member of a group from the beginning.
async function consumed(groupId, count, { each = () => {}, ...options } = {}) {
  const consumer = kafka.consumer({ groupId, sessionTimeout: 6000, ...options });
  const values = [];
  await consumer.connect();
  try {
    await consumer.subscribe({ topics: [TOPIC], fromBeginning: true });
    await new Promise((resolve, reject) => {
      setTimeout(() => reject(new Error(`${values.length} of ${count} records came`)), 30_000);
      consumer.run({
        eachMessage: async ({ message, partition }) => {
          values.push(String(message.value));
          await each({ consumer, message, partition });
          if (values.length === count) resolve();
        },
      }).catch(reject);
    });
  } finally {
    await consumer.disconnect();
  }
  return values.sort();
}

const records = (...values) => values.map((value) => ({ key: value, value, partition: 0 }));

const CALLS = {
  createTopics: async () => {
    const configEntries = [{ name: "retention.ms", value: "-1" }];
    const topics = [{ topic: TOPIC, numPartitions: 2, replicationFactor: 1, configEntries }];
    wanted(await admin.createTopics({ topics, waitForLeaders: true }), true);
    wanted(await admin.createTopics({ topics }), false);
  },
  listTopics: async () => wanted((await admin.listTopics()).includes(TOPIC), true),
  createPartitions: async () => {
    await admin.createPartitions({ topicPartitions: [{ topic: TOPIC, count: 3 }] });
  },
  fetchTopicMetadata: async () => {
    const { topics } = await admin.fetchTopicMetadata({ topics: [TOPIC] });
    wanted(topics[0].partitions.map((each) => each.partitionId).sort(), [0, 1, 2]);
  },
  describeCluster: async () => wanted((await admin.describeCluster()).brokers.length, 1),
  describeConfigs: async () => {
    const resources = [{ type: ConfigResourceTypes.TOPIC, name: TOPIC }];
    const found = await admin.describeConfigs({ resources, includeSynonyms: false });
    const entries = found.resources[0].configEntries;
    wanted(entries.find((each) => each.configName === "retention.ms").configValue, "-1");
  },
  alterConfigs: async () => {
    const configEntries = [{ name: "cleanup.policy", value: "compact" }];
    const resources = [{ type: ConfigResourceTypes.TOPIC, name: TOPIC, configEntries }];
    await admin.alterConfigs({ validateOnly: false, resources });
  },
  send: async () => {
    const sent = await produced({}, (each) => each.send({ topic: TOPIC, messages: records("a") }));
    wanted(sent[0].baseOffset, "0");
  },
  "send, gzip": async () => {
    const compression = CompressionTypes.GZIP;
    const request = { topic: TOPIC, compression, messages: records("b", "c") };
    wanted((await produced({}, (each) => each.send(request)))[0].baseOffset, "1");
  },
  "send, headers": async () => {
    const headers = { trace: "7", twice: ["1", "2"] };
    const messages = [{ key: "d", value: "d", partition: 0, headers }];
    await produced({}, (each) => each.send({ topic: TOPIC, messages }));
  },
  "sendBatch, idempotent": async () => {
    const topicMessages = [{ topic: TOPIC, messages: records("e") }];
    await produced({ idempotent: true }, (each) => each.sendBatch({ topicMessages }));
  },
  "transaction, committed": async () => {
    const options = { transactionalId: "kafkajs", maxInFlightRequests: 1, idempotent: true };
    await produced(options, async (each) => {
      const transaction = await each.transaction();
      await transaction.send({ topic: TOPIC, messages: records("f") });
      await transaction.commit();
    });
  },
  "transaction, aborted": async () => {
    const options = { transactionalId: "kafkajs", maxInFlightRequests: 1, idempotent: true };
    await produced(options, async (each) => {
      const transaction = await each.transaction();
      await transaction.send({ topic: TOPIC, messages: records("aborted") });
      await transaction.abort();
    });
  },
  fetchTopicOffsets: async () => {
    const found = await admin.fetchTopicOffsets(TOPIC);
    wanted(found.find((each) => each.partition === 0).high, "9"); // two markers
  },
  fetchTopicOffsetsByTimestamp: async () => {
    const found = await admin.fetchTopicOffsetsByTimestamp(TOPIC, 1);
    wanted(found.find((each) => each.partition === 0).offset, "0");
  },
  "consume, committed": async () => {
    wanted(await consumed(GROUP, 6), ["a", "b", "c", "d", "e", "f"]);
  },
  "consume, uncommitted": async () => {
    const found = await consumed("uncommitted", 7, { readUncommitted: true });
    wanted(found, ["a", "aborted", "b", "c", "d", "e", "f"]);
  },
  "consume, seek": async () => {
    let isFirst = true;
    const each = ({ consumer, partition }) => {
      if (isFirst) consumer.seek({ topic: TOPIC, partition, offset: "5" });
      isFirst = false;
    };
    wanted((await consumed("seekers", 2, { each, readUncommitted: true })).length, 2);
  },
  fetchOffsets: async () => {
    const found = await admin.fetchOffsets({ groupId: GROUP, topics: [TOPIC] });
    const { offset } = found[0].partitions.find((each) => each.partition === 0);
    wanted(Number(offset) >= 5, true); // the last may be on its way
  },
  setOffsets: async () => {
    const partitions = [{ partition: 0, offset: "2" }];
    await admin.setOffsets({ groupId: GROUP, topic: TOPIC, partitions });
    wanted(await consumed(GROUP, 4), ["c", "d", "e", "f"]);
  },
  resetOffsets: async () => {
    await admin.resetOffsets({ groupId: GROUP, topic: TOPIC, earliest: true });
  },
  listGroups: async () => {
    const { groups } = await admin.listGroups();
    wanted(groups.some((each) => each.groupId === GROUP), true);
  },
  describeGroups: async () => {
    wanted((await admin.describeGroups([GROUP])).groups[0].state, "Empty");
  },
  deleteGroups: async () => wanted((await admin.deleteGroups([GROUP]))[0].groupId, GROUP),
  "deleteTopicRecords, compacted": async () => {
    const request = { topic: TOPIC, partitions: [{ partition: 0, offset: "3" }] };
    const refused = await admin.deleteTopicRecords(request).catch((error) => error);
    wanted(refused.cause?.partitions.map((each) => each.error.type), ["POLICY_VIOLATION"]);
    const configEntries = [{ name: "cleanup.policy", value: "compact,delete" }];
    const resources = [{ type: ConfigResourceTypes.TOPIC, name: TOPIC, configEntries }];
    await admin.alterConfigs({ validateOnly: false, resources });
  },
  deleteTopicRecords: async () => {
    const request = { topic: TOPIC, partitions: [{ partition: 0, offset: "3" }] };
    await admin.deleteTopicRecords(request);
    const found = await admin.fetchTopicOffsets(TOPIC);
    wanted(found.find((each) => each.partition === 0).low, "3");
  },
  describeAcls: async () => {
    await admin.describeAcls({
      resourceType: 2,
      resourcePatternType: 3,
      operation: 1,
      permissionType: 1,
      resourceName: TOPIC,
    });
  },
  deleteTopics: async () => await admin.deleteTopics({ topics: [TOPIC] }),
};

await admin.connect();
for (const [name, call] of Object.entries(CALLS)) {
  let problem = null;
  try {
    await call();
  } catch (error) {
    problem = String(error);
  }
  console.log(JSON.stringify({ name, problem }));
}
await admin.disconnect();
Deno.exit();
