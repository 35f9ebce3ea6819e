import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.tools.VerifiableProducer;

/**
 * Two producers until the standard input ends ("BOOTSTRAP PROPERTIES"): kafka-verifiable-producer with acks=all to the topic
 * "numbers", whose lines are its own, and a transactional one.
 *
 * <p>Transaction n sends 3 records n to "debits", 2 to "credits" and commits offset n of "debits" for the group "mover"; each
 * third is aborted. Prints "commit n", "abort n", or "fatal" with an error that no producer survives.
 */
public final class Producers {
    private static volatile boolean isEnding;

    public static void main(String[] a) throws Exception {
        Thread verifiable = new Thread(() -> VerifiableProducer.main(new String[] {
            "--bootstrap-server", a[0], "--topic", "numbers", "--acks", "-1", "--throughput", "500", "--command-config", a[1]
        }));
        verifiable.setDaemon(true);
        verifiable.start();
        Thread transactional = new Thread(() -> {
            try {
                transact(a[0], a[1]);
            } catch (Throwable error) {
                System.out.println("fatal " + error);
                error.printStackTrace();
            }
        });
        transactional.start();
        while (System.in.read() >= 0) {}
        isEnding = true;
        transactional.join();
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    static void transact(String bootstrap, String properties) throws Exception {
        Properties p = new Properties();
        p.load(Files.newBufferedReader(Path.of(properties)));
        p.put("bootstrap.servers", bootstrap);
        p.put("transactional.id", "mover");
        p.put("key.serializer", StringSerializer.class.getName());
        p.put("value.serializer", StringSerializer.class.getName());
        KafkaProducer<String, String> producer = new KafkaProducer<>(p);
        producer.initTransactions();
        for (int n = 1; !isEnding; n++) {
            producer.beginTransaction();
            String text = Integer.toString(n);
            for (int i = 0; i < 3; i++) producer.send(new ProducerRecord<>("debits", text));
            for (int i = 0; i < 2; i++) producer.send(new ProducerRecord<>("credits", text));
            producer.sendOffsetsToTransaction(Map.of(new TopicPartition("debits", 0), new OffsetAndMetadata(n)), new ConsumerGroupMetadata("mover"));
            producer.flush();
            boolean commits = n % 3 != 0;
            if (commits) producer.commitTransaction();
            else producer.abortTransaction();
            System.out.println((commits ? "commit " : "abort ") + n);
        }
    }
}
