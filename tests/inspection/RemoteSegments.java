package org.apache.kafka.server.log.remote.metadata.storage;

import java.io.BufferedReader;
import java.io.FileReader;
import java.util.Optional;
import java.util.TreeMap;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentId;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadataUpdate;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState;
import org.apache.kafka.server.log.remote.storage.RemoteResourceNotFoundException;

/** Applies events of remote segments to Kafka's own cache, and prints what it finds. */
public final class RemoteSegments {
    private static final TopicIdPartition PARTITION =
        new TopicIdPartition(new Uuid(1, 1), new TopicPartition("t", 0));

    public static void main(String[] arguments) throws Exception {
        RemoteLogMetadataCache cache = null;
        try (BufferedReader lines = new BufferedReader(new FileReader(arguments[0]))) {
            for (String line; (line = lines.readLine()) != null; ) {
                String[] words = line.split(" ");
                if (words[0].equals("new")) {
                    cache = new RemoteLogMetadataCache();
                    cache.markInitialized();
                } else if (words[0].equals("find")) {
                    Optional<RemoteLogSegmentMetadata> found =
                        cache.remoteLogSegmentMetadata(Integer.parseInt(words[1]), Long.parseLong(words[2]));
                    System.out.println(found.map(each -> each.remoteLogSegmentId().id().toString()).orElse("-"));
                } else if (words[0].equals("highest")) {
                    Optional<Long> found = cache.highestOffsetForEpoch(Integer.parseInt(words[1]));
                    System.out.println(found.map(String::valueOf).orElse("-"));
                } else {
                    RemoteLogSegmentId id = new RemoteLogSegmentId(PARTITION, Uuid.fromString(words[1]));
                    if (words[0].equals("copy")) {
                        TreeMap<Integer, Long> epochs = new TreeMap<>();
                        for (int at = 4; at < words.length; at += 2)
                            epochs.put(Integer.parseInt(words[at]), Long.parseLong(words[at + 1]));
                        cache.addCopyInProgressSegment(new RemoteLogSegmentMetadata(
                            id, Long.parseLong(words[2]), Long.parseLong(words[3]), -1, 0, 0, 1, epochs));
                    } else {
                        try {
                            cache.updateRemoteLogSegmentMetadata(new RemoteLogSegmentMetadataUpdate(
                                id, 0, Optional.empty(), RemoteLogSegmentState.forId(Byte.parseByte(words[2])), 0));
                        } catch (RemoteResourceNotFoundException error) {
                            // a broker logs it
                        }
                    }
                }
            }
        }
    }
}
