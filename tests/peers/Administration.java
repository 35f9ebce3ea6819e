import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionReplica;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.*;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.quota.*;
import org.apache.kafka.common.resource.*;

/**
 * Makes every call of the admin client ("BOOTSTRAP"): those that Kafbat UI, Redpanda Console and kafka_exporter make at their
 * start, and all others. A line for each: its name, a tab, and the answer or the error's
 * class. What a broker allows and the server refuses is only validated, or taken back.
 */
public final class Administration {
    private static final TopicPartition P = new TopicPartition("t", 0), Q = new TopicPartition("t", 1);
    private static Admin admin;

    private static void say(String name, Callable<?> call) {
        String text;
        try {
            text = String.valueOf(call.call());
        } catch (ExecutionException e) {
            text = e.getCause().getClass().getSimpleName();
        } catch (Throwable e) {
            text = "failed: " + e;
        }
        System.out.println(name + "\t" + text.replaceAll("\\s+", " "));
    }

    /** The entries of a map in the order of their texts. */
    private static TreeMap<String, String> sorted(Map<?, ?> map) {
        TreeMap<String, String> found = new TreeMap<>();
        map.forEach((key, value) -> found.put(String.valueOf(key), String.valueOf(value)));
        return found;
    }

    private static TreeSet<String> sorted(Iterable<?> values) {
        TreeSet<String> found = new TreeSet<>();
        values.forEach(value -> found.add(String.valueOf(value)));
        return found;
    }

    private static ConfigResource resource(ConfigResource.Type type, String name) {
        return new ConfigResource(type, name);
    }

    private static TreeSet<String> configs(ConfigResource.Type type, String name) throws Exception {
        DescribeConfigsOptions all = new DescribeConfigsOptions().includeSynonyms(true).includeDocumentation(true);
        TreeSet<String> found = new TreeSet<>();
        for (ConfigEntry each : admin.describeConfigs(List.of(resource(type, name)), all).all().get().values().iterator().next().entries()) {
            boolean ofServer = Set.of("log.dirs", "listeners", "advertised.listeners").contains(each.name());
            found.add(each.name() + "=" + (ofServer ? "…" : each.value() + " " + each.type()));
        }
        return found;
    }

    private static Void alter(ConfigResource.Type type, String name, String key, String value) throws Exception {
        AlterConfigOp op = new AlterConfigOp(new ConfigEntry(key, value), AlterConfigOp.OpType.SET);
        AlterConfigsOptions options = new AlterConfigsOptions().validateOnly(type != ConfigResource.Type.TOPIC);
        return admin.incrementalAlterConfigs(Map.of(resource(type, name), List.of(op)), options).all().get();
    }

    public static void main(String[] a) {
        Properties p = new Properties();
        p.put("bootstrap.servers", a[0]);
        admin = Admin.create(p);
        cluster();
        topics();
        groups();
        transactions();
        security();
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    private static void cluster() {
        say("describeCluster", () -> {
            DescribeClusterResult c = admin.describeCluster(new DescribeClusterOptions().includeAuthorizedOperations(true));
            return c.clusterId().get() + " " + c.nodes().get() + " " + c.controller().get() + " " + sorted(c.authorizedOperations().get());
        });
        say("describeCluster of fenced brokers",
            () -> admin.describeCluster(new DescribeClusterOptions().includeFencedBrokers(true)).nodes().get());
        say("describeConfigs of the broker", () -> configs(ConfigResource.Type.BROKER, "1"));
        say("describeConfigs of every broker", () -> configs(ConfigResource.Type.BROKER, ""));
        say("describeConfigs of loggers", () -> configs(ConfigResource.Type.BROKER_LOGGER, "1").size());
        say("alterConfigs of the broker", () -> alter(ConfigResource.Type.BROKER, "1", "log.cleaner.threads", "2"));
        say("alterConfigs of every broker", () -> alter(ConfigResource.Type.BROKER, "", "log.retention.ms", "1000000000"));
        say("alterConfigs of a logger", () -> alter(ConfigResource.Type.BROKER_LOGGER, "1", "none", "DEBUG"));
        say("alterConfigs of a group", () -> alter(ConfigResource.Type.GROUP, "g", "consumer.session.timeout.ms", "50000"));
        say("alterConfigs of metrics", () -> alter(ConfigResource.Type.CLIENT_METRICS, "m", "interval.ms", "5000"));
        say("describeFeatures", () -> {
            FeatureMetadata f = admin.describeFeatures().featureMetadata().get();
            return sorted(f.finalizedFeatures()) + " " + sorted(f.supportedFeatures());
        });
        say("updateFeatures, validated", () -> admin.updateFeatures(
            Map.of("transaction.version", new FeatureUpdate((short) 1, FeatureUpdate.UpgradeType.SAFE_DOWNGRADE)),
            new UpdateFeaturesOptions().validateOnly(true)).all().get());
        say("describeMetadataQuorum", () -> {
            QuorumInfo q = admin.describeMetadataQuorum().quorumInfo().get();
            return q.leaderId() + " " + q.voters().stream().map(QuorumInfo.ReplicaState::replicaId).toList() + " " + q.observers();
        });
        say("addRaftVoter", () -> admin.addRaftVoter(9, Uuid.ONE_UUID, Set.of(new RaftVoterEndpoint("CONTROLLER", "localhost", 9))).all().get());
        say("removeRaftVoter", () -> admin.removeRaftVoter(9, Uuid.ONE_UUID).all().get());
        say("unregisterBroker", () -> admin.unregisterBroker(7).all().get());
        say("listConfigResources", () -> sorted(admin.listConfigResources().all().get()));
        say("listClientMetricsResources", () -> sorted(admin.listClientMetricsResources().all().get()));
        say("describeLogDirs", () -> {
            TreeMap<String, String> found = new TreeMap<>();
            admin.describeLogDirs(List.of(1)).allDescriptions().get().get(1).values().forEach(dir -> {
                dir.replicaInfos().forEach((where, info) -> {
                    if (where.topic().equals("t")) found.put(where.toString(), info.size() + " " + info.offsetLag());
                });
            });
            return found;
        });
        say("describeReplicaLogDirs", () -> sorted(admin.describeReplicaLogDirs(List.of(new TopicPartitionReplica("t", 0, 1))).all().get().keySet()));
    }

    private static void topics() {
        say("listTopics", () -> sorted(admin.listTopics(new ListTopicsOptions().listInternal(true)).names().get()));
        say("describeTopics", () -> admin.describeTopics(List.of("t")).allTopicNames().get());
        say("describeTopics, unknown", () -> admin.describeTopics(List.of("none")).allTopicNames().get());
        say("describeConfigs of a topic", () -> configs(ConfigResource.Type.TOPIC, "t"));
        List<OffsetSpec> specs = List.of(OffsetSpec.earliest(), OffsetSpec.latest(), OffsetSpec.maxTimestamp(), OffsetSpec.earliestLocal(),
            OffsetSpec.latestTiered(), OffsetSpec.earliestPendingUpload(), OffsetSpec.forTimestamp(1));
        for (OffsetSpec spec : specs)
            say("listOffsets " + spec.getClass().getSimpleName(), () -> {
                TreeMap<String, String> found = new TreeMap<>();
                admin.listOffsets(Map.of(P, spec, Q, spec)).all().get()
                    .forEach((where, offset) -> found.put(where.toString(), offset.offset() + " " + offset.timestamp()));
                return found;
            });
        say("createTopics", () -> admin.createTopics(List.of(new NewTopic("made", 3, (short) 1))).all().get());
        say("createTopics, there", () -> admin.createTopics(List.of(new NewTopic("made", 3, (short) 1))).all().get());
        say("createTopics, too many replicas", () -> admin.createTopics(List.of(new NewTopic("other", 1, (short) 2))).all().get());
        say("createPartitions", () -> admin.createPartitions(Map.of("made", NewPartitions.increaseTo(5))).all().get());
        say("createPartitions, fewer", () -> admin.createPartitions(Map.of("made", NewPartitions.increaseTo(2))).all().get());
        say("alterConfigs of a topic", () -> alter(ConfigResource.Type.TOPIC, "made", "retention.ms", "5"));
        say("alterConfigs of a topic, unknown", () -> alter(ConfigResource.Type.TOPIC, "none", "retention.ms", "5"));
        say("deleteRecords", () -> admin.deleteRecords(Map.of(P, RecordsToDelete.beforeOffset(3))).lowWatermarks().get(P).get().lowWatermark());
        say("deleteRecords, beyond", () -> admin.deleteRecords(Map.of(P, RecordsToDelete.beforeOffset(1L << 40))).lowWatermarks().get(P).get().lowWatermark());
        say("deleteTopics", () -> admin.deleteTopics(List.of("made")).all().get());
        say("deleteTopics, unknown", () -> admin.deleteTopics(List.of("none")).all().get());
        say("electLeaders of all", () -> sorted(admin.electLeaders(ElectionType.PREFERRED, null).partitions().get()));
        Set<TopicPartition> some = Set.of(P, new TopicPartition("none", 0));
        say("electLeaders", () -> sorted(admin.electLeaders(ElectionType.PREFERRED, some).partitions().get()));
        say("electLeaders, unclean", () -> sorted(admin.electLeaders(ElectionType.UNCLEAN, Set.of(P)).partitions().get()));
        say("listPartitionReassignments", () -> admin.listPartitionReassignments().reassignments().get());
        for (List<Integer> replicas : List.of(List.of(1), List.of(1, 2)))
            say("alterPartitionReassignments " + replicas,
                () -> admin.alterPartitionReassignments(Map.of(P, Optional.of(new NewPartitionReassignment(replicas)))).all().get());
        say("alterPartitionReassignments, cancel", () -> admin.alterPartitionReassignments(Map.of(P, Optional.empty())).all().get());
    }

    private static void groups() {
        say("listGroups", () -> sorted(admin.listGroups().all().get()));
        say("listConsumerGroups", () -> sorted(admin.listConsumerGroups().all().get()));
        say("describeConsumerGroups", () -> sorted(admin.describeConsumerGroups(List.of("readers")).all().get()));
        say("describeClassicGroups", () -> sorted(admin.describeClassicGroups(List.of("readers")).all().get()));
        say("listConsumerGroupOffsets", () -> sorted(admin.listConsumerGroupOffsets("readers").partitionsToOffsetAndMetadata().get()));
        say("alterConsumerGroupOffsets", () -> admin.alterConsumerGroupOffsets("readers",
            Map.of(P, new org.apache.kafka.clients.consumer.OffsetAndMetadata(5))).all().get());
        say("deleteConsumerGroupOffsets", () -> admin.deleteConsumerGroupOffsets("readers", Set.of(P)).all().get());
        say("removeMembersFromConsumerGroup", () -> admin.removeMembersFromConsumerGroup("readers",
            new RemoveMembersFromConsumerGroupOptions(List.of(new MemberToRemove("x")))).all().get());
        List<String> nobody = List.of("nobody");
        say("describeConsumerGroups, unknown", () -> admin.describeConsumerGroups(nobody).all().get());
        say("describeClassicGroups, unknown", () -> admin.describeClassicGroups(nobody).all().get());
        say("describeShareGroups, unknown", () -> admin.describeShareGroups(nobody).all().get());
        say("describeStreamsGroups, unknown", () -> admin.describeStreamsGroups(nobody).all().get());
        say("deleteConsumerGroups, unknown", () -> admin.deleteConsumerGroups(nobody).all().get());
        say("deleteShareGroups, unknown", () -> admin.deleteShareGroups(nobody).all().get());
        say("deleteStreamsGroups, unknown", () -> admin.deleteStreamsGroups(nobody).all().get());
        say("listShareGroupOffsets, unknown",
            () -> admin.listShareGroupOffsets(Map.of("nobody", new ListShareGroupOffsetsSpec())).all().get());
        say("alterShareGroupOffsets, unknown", () -> admin.alterShareGroupOffsets("nobody", Map.of(P, 0L)).all().get());
        say("deleteShareGroupOffsets, unknown", () -> admin.deleteShareGroupOffsets("nobody", Set.of("t")).all().get());
        say("deleteConsumerGroups", () -> admin.deleteConsumerGroups(List.of("readers")).all().get());
    }

    private static void transactions() {
        say("listTransactions", () -> sorted(admin.listTransactions().all().get()));
        say("describeTransactions, unknown", () -> admin.describeTransactions(List.of("nobody")).all().get());
        say("describeProducers", () -> admin.describeProducers(List.of(Q)).all().get());
        say("fenceProducers", () -> admin.fenceProducers(List.of("someone")).all().get());
        say("forceTerminateTransaction, unknown", () -> admin.forceTerminateTransaction("nobody").result().get());
        say("abortTransaction, none open", () -> admin.abortTransaction(new AbortTransactionSpec(P, 1, (short) 0, 0)).all().get());
    }

    private static void security() {
        AclBinding acl = new AclBinding(new ResourcePattern(ResourceType.TOPIC, "t", PatternType.LITERAL),
            new AccessControlEntry("User:a", "*", AclOperation.READ, AclPermissionType.ALLOW));
        say("describeAcls", () -> admin.describeAcls(AclBindingFilter.ANY).values().get());
        say("createAcls", () -> admin.createAcls(List.of(acl)).all().get());
        say("deleteAcls", () -> admin.deleteAcls(List.of(AclBindingFilter.ANY)).all().get());
        say("describeClientQuotas", () -> admin.describeClientQuotas(ClientQuotaFilter.all()).entities().get());
        say("alterClientQuotas", () -> admin.alterClientQuotas(List.of(new ClientQuotaAlteration(
            new ClientQuotaEntity(Map.of("client-id", "c")), List.of(new ClientQuotaAlteration.Op("producer_byte_rate", 1e6)))),
            new AlterClientQuotasOptions().validateOnly(true)).all().get());
        say("describeUserScramCredentials", () -> admin.describeUserScramCredentials().all().get());
        say("describeUserScramCredentials of one", () -> admin.describeUserScramCredentials(List.of("bob")).all().get());
        say("alterUserScramCredentials", () -> admin.alterUserScramCredentials(List.of(new UserScramCredentialUpsertion("bob",
            new ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096), "secret"))).all().get());
        say("alterUserScramCredentials, deleted", () -> admin.alterUserScramCredentials(
            List.of(new UserScramCredentialDeletion("bob", ScramMechanism.SCRAM_SHA_256))).all().get());
        say("describeDelegationToken", () -> admin.describeDelegationToken().delegationTokens().get());
        say("createDelegationToken", () -> admin.createDelegationToken().delegationToken().get());
        say("renewDelegationToken", () -> admin.renewDelegationToken(new byte[] {1}).expiryTimestamp().get());
        say("expireDelegationToken", () -> admin.expireDelegationToken(new byte[] {1}).expiryTimestamp().get());
    }
}
