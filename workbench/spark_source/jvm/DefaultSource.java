package kafka_log;

/** What Spark loads for the format "kafka-log": in the jar, this is `kafka-log.DefaultSource`. See README.md. */
public class DefaultSource extends kafkalog.LogProvider {}
