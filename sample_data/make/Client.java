import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;  //@ 2.0..
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.AdminClient;  //@ 0.11..
import org.apache.kafka.clients.admin.AlterConfigOp;  //@ 2.3..
import org.apache.kafka.clients.admin.ConfigEntry;  //@ 2.3..
import org.apache.kafka.clients.admin.NewTopic;  //@ 0.11..
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;  //@ 2.5..
import org.apache.kafka.clients.consumer.ConsumerRecord;  //@ 0.9..
import org.apache.kafka.clients.consumer.ConsumerRecords;  //@ 0.9..
import org.apache.kafka.clients.consumer.KafkaConsumer;  //@ 0.9..
import org.apache.kafka.clients.consumer.OffsetAndMetadata;  //@ 0.9..
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;  //@ 0.9..
import org.apache.kafka.common.config.ConfigResource;  //@ 2.3..

/**
 * Producers, consumers and an admin client, driven by lines of tab-separated fields on standard input.
 *
 * <p>Every command but {@code send} is answered by one line, {@code @ok} or {@code @error ...}. Keys,
 * values and header values are base64, {@code -} is null. A line that ends in {@code //@ 0.11..2.5}
 * is compiled for Kafka 0.11 up to 2.4 only.
 */
public class Client {
    private static final String BYTES = "org.apache.kafka.common.serialization.ByteArray";
    private static final Map<String, KafkaProducer<byte[], byte[]>> PRODUCERS = new HashMap<>();
    private static final Map<String, List<Future<RecordMetadata>>> SENT = new HashMap<>();
    private static final Map<String, KafkaConsumer<byte[], byte[]>> CONSUMERS = new HashMap<>();  //@ 0.9..
    private static String bootstrap;

    public static void main(String[] args) throws Exception {
        bootstrap = args[0];
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = commands.readLine()) != null; ) {
            String[] f = line.split("\t", -1);
            try {
                run(f);
                if (!f[0].equals("send")) System.out.println("@ok");
            } catch (Throwable error) {
                error.printStackTrace();
                System.out.println("@error " + line + ": " + error);
            }
        }
        Runtime.getRuntime().halt(0);  // transactions remain open, members do not leave their groups
    }

    private static void run(String[] f) throws Exception {
        switch (f[0]) {
            case "topic": createTopic(f); break;
            case "config": changeConfig(f); break;
            case "producer": openProducer(f); break;
            case "send": send(f); break;
            case "flush": flush(f[1]); break;
            case "close": flush(f[1]); PRODUCERS.remove(f[1]).close(); break;
            case "init": PRODUCERS.get(f[1]).initTransactions(); break;  //@ 0.11..
            case "begin": PRODUCERS.get(f[1]).beginTransaction(); break;  //@ 0.11..
            case "commit": flush(f[1]); PRODUCERS.get(f[1]).commitTransaction(); break;  //@ 0.11..
            case "abort": flush(f[1]); PRODUCERS.get(f[1]).abortTransaction(); break;  //@ 0.11..
            case "offset": commitInTransaction(f); break;  //@ 0.11..
            case "subscribe": subscribe(f); break;  //@ 0.9..
            case "consume": consume(f); break;  //@ 0.9..
            case "leave": CONSUMERS.remove(f[1]).close(); break;  //@ 0.9..
            default: throw new IllegalArgumentException("unknown command");
        }
    }

    private static byte[] bytes(String field) {
        return field.equals("-") ? null : Base64.getDecoder().decode(field);
    }

    /** The NAME=VALUE fields from the given one to the last. */
    private static Map<String, String> settings(String[] f, int from) {
        Map<String, String> settings = new HashMap<>();
        for (String field : Arrays.asList(f).subList(from, f.length)) {
            int equals = field.indexOf('=');
            settings.put(field.substring(0, equals), field.substring(equals + 1));
        }
        return settings;
    }

    private static Properties connection(Map<String, String> settings) {
        Properties properties = new Properties();
        properties.putAll(settings);
        properties.put("bootstrap.servers", bootstrap);
        return properties;
    }

    /** topic NAME PARTITIONS [CONFIG=VALUE]... */
    private static void createTopic(String[] f) throws Exception {
        try (AdminClient admin = AdminClient.create(connection(settings(f, f.length)))) {  //@ 0.11..
            NewTopic topic = new NewTopic(f[1], Integer.parseInt(f[2]), (short) 1);  //@ 0.11..
            admin.createTopics(Collections.singleton(topic.configs(settings(f, 3)))).all().get();  //@ 0.11..
        }  //@ 0.11..
    }

    /** config TOPIC [CONFIG=VALUE]... */
    private static void changeConfig(String[] f) throws Exception {
        ConfigResource topic = new ConfigResource(ConfigResource.Type.TOPIC, f[1]);  //@ 2.3..
        List<AlterConfigOp> changes = new ArrayList<>();  //@ 2.3..
        for (Map.Entry<String, String> e : settings(f, 2).entrySet())  //@ 2.3..
            changes.add(new AlterConfigOp(new ConfigEntry(e.getKey(), e.getValue()), AlterConfigOp.OpType.SET));  //@ 2.3..
        try (AdminClient admin = AdminClient.create(connection(settings(f, f.length)))) {  //@ 2.3..
            admin.incrementalAlterConfigs(Collections.singletonMap(topic, changes)).all().get();  //@ 2.3..
        }  //@ 2.3..
    }

    /** producer ID [CONFIG=VALUE]... */
    private static void openProducer(String[] f) {
        Properties properties = connection(settings(f, 2));
        properties.put("key.serializer", BYTES + "Serializer");
        properties.put("value.serializer", BYTES + "Serializer");
        PRODUCERS.put(f[1], new KafkaProducer<byte[], byte[]>(properties));
        SENT.put(f[1], new ArrayList<>());
    }

    /** send PRODUCER TOPIC PARTITION TIMESTAMP KEY VALUE [HEADER VALUE]... */
    private static void send(String[] f) {
        Integer partition = Integer.valueOf(f[3]);
        ProducerRecord<byte[], byte[]> record;
        record = new ProducerRecord<>(f[2], partition, bytes(f[5]), bytes(f[6]));  //@ ..0.10
        Long timestamp = f[4].equals("-") ? null : Long.valueOf(f[4]);  //@ 0.10..
        record = new ProducerRecord<>(f[2], partition, timestamp, bytes(f[5]), bytes(f[6]));  //@ 0.10..
        for (int i = 7; i + 1 < f.length; i += 2) record.headers().add(f[i], bytes(f[i + 1]));  //@ 0.11..
        SENT.get(f[1]).add(PRODUCERS.get(f[1]).send(record));
    }

    /** Waits until every record of a producer is acknowledged, so that its batches end here. */
    private static void flush(String producer) throws Exception {
        PRODUCERS.get(producer).flush();  //@ 0.9..
        for (Future<RecordMetadata> future : SENT.get(producer)) future.get();
        SENT.get(producer).clear();
    }

    /** offset PRODUCER GROUP TOPIC PARTITION OFFSET METADATA */
    private static void commitInTransaction(String[] f) throws Exception {
        TopicPartition partition = new TopicPartition(f[3], Integer.parseInt(f[4]));  //@ 0.11..
        OffsetAndMetadata offset = new OffsetAndMetadata(Long.parseLong(f[5]), f[6]);  //@ 0.11..
        Object group = f[2];
        PRODUCERS.get(f[1]).sendOffsetsToTransaction(Collections.singletonMap(partition, offset), f[2]);  //@ 0.11..2.5
        PRODUCERS.get(f[1]).sendOffsetsToTransaction(  //@ 2.5..
            Collections.singletonMap(partition, offset), new ConsumerGroupMetadata(f[2]));  //@ 2.5..
    }

    /** subscribe CONSUMER TOPIC CONFIG=VALUE... */
    private static void subscribe(String[] f) {
        Properties properties = connection(settings(f, 3));
        properties.put("key.deserializer", BYTES + "Deserializer");
        properties.put("value.deserializer", BYTES + "Deserializer");
        KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties);  //@ 0.9..
        consumer.subscribe(Collections.singletonList(f[2]));  //@ 0.9..
        CONSUMERS.put(f[1], consumer);  //@ 0.9..
    }

    /** consume CONSUMER COUNT METADATA: reads at least COUNT records, then commits its position. */
    private static void consume(String[] f) throws Exception {
        KafkaConsumer<byte[], byte[]> consumer = CONSUMERS.get(f[1]);  //@ 0.9..
        Map<TopicPartition, OffsetAndMetadata> next = new HashMap<>();  //@ 0.9..
        long deadline = System.currentTimeMillis() + 60_000;
        for (int count = 0; count < Integer.parseInt(f[2]); ) {
            if (System.currentTimeMillis() > deadline) throw new Exception("only " + count + " records came");
            ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(200));  //@ 2.0..
            ConsumerRecords<byte[], byte[]> records = consumer.poll(200);  //@ 0.9..2.0
            for (ConsumerRecord<byte[], byte[]> r : records)  //@ 0.9..
                next.put(new TopicPartition(r.topic(), r.partition()), new OffsetAndMetadata(r.offset() + 1, f[3]));  //@ 0.9..
            count += records.count();  //@ 0.9..
        }
        consumer.commitSync(next);  //@ 0.9..
    }
}
