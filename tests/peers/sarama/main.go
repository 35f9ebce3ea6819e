// Reads once what the exporters of metrics that are built on sarama read at each scrape, as
// kafka_exporter does, and prints it as Prometheus' text.
package main

import (
	"bufio"
	"fmt"
	"log"
	"os"
	"sort"

	"github.com/IBM/sarama"
)

// place is a partition of a topic.
type place struct {
	topic     string
	partition int32
}

// scrape holds what one scrape has found: the lines, and each partition's newest offset.
type scrape struct {
	client sarama.Client
	lines  []string
	ends   map[place]int64
}

func main() {
	config := sarama.NewConfig()
	config.ClientID = "kafka_exporter"
	config.Metadata.AllowAutoTopicCreation = false
	version, err := sarama.ParseKafkaVersion(os.Args[2])
	check(err)
	config.Version = version
	client, err := sarama.NewClient([]string{os.Args[1]}, config)
	check(err)
	defer client.Close()

	found := &scrape{client: client, ends: map[place]int64{}}
	check(client.RefreshMetadata())
	found.add("kafka_brokers", len(client.Brokers()))
	topics, err := client.Topics()
	check(err)
	for _, topic := range topics {
		found.readTopic(topic)
	}
	for _, broker := range client.Brokers() {
		found.readGroups(broker)
	}

	sort.Strings(found.lines)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for _, line := range found.lines {
		fmt.Fprintln(out, line)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func (s *scrape) add(name string, value any) {
	s.lines = append(s.lines, fmt.Sprintf("%s %v", name, value))
}

// addOf adds a metric of a partition.
func (s *scrape) addOf(name string, at place, value any) {
	s.add(fmt.Sprintf("%s{topic=%q,partition=\"%d\"}", name, at.topic, at.partition), value)
}

func (s *scrape) readTopic(topic string) {
	partitions, err := s.client.Partitions(topic)
	check(err)
	s.add(fmt.Sprintf("kafka_topic_partitions{topic=%q}", topic), len(partitions))
	for _, partition := range partitions {
		at := place{topic, partition}
		leader, err := s.client.Leader(topic, partition)
		check(err)
		s.addOf("kafka_topic_partition_leader", at, leader.ID())
		newest, err := s.client.GetOffset(topic, partition, sarama.OffsetNewest)
		check(err)
		s.ends[at] = newest
		s.addOf("kafka_topic_partition_current_offset", at, newest)
		oldest, err := s.client.GetOffset(topic, partition, sarama.OffsetOldest)
		check(err)
		s.addOf("kafka_topic_partition_oldest_offset", at, oldest)
		replicas, err := s.client.Replicas(topic, partition)
		check(err)
		s.addOf("kafka_topic_partition_replicas", at, len(replicas))
		inSync, err := s.client.InSyncReplicas(topic, partition)
		check(err)
		s.addOf("kafka_topic_partition_in_sync_replica", at, len(inSync))
	}
}

// readGroups reads the groups that a broker coordinates; every partition is asked for, as with
// kafka_exporter's default offset.show-all.
func (s *scrape) readGroups(broker *sarama.Broker) {
	if err := broker.Open(s.client.Config()); err != nil && err != sarama.ErrAlreadyConnected {
		log.Fatal(err)
	}
	listed, err := broker.ListGroups(&sarama.ListGroupsRequest{})
	check(err)
	names := []string{}
	for name := range listed.Groups {
		names = append(names, name)
	}
	described, err := broker.DescribeGroups(&sarama.DescribeGroupsRequest{Groups: names})
	check(err)
	for _, group := range described.Groups {
		s.add(fmt.Sprintf("kafka_consumergroup_members{consumergroup=%q}", group.GroupId), len(group.Members))
		request := &sarama.OffsetFetchRequest{ConsumerGroup: group.GroupId, Version: 4}
		for at := range s.ends {
			request.AddPartition(at.topic, at.partition)
		}
		fetched, err := broker.FetchOffset(request)
		check(err)
		for topic, blocks := range fetched.Blocks {
			for partition, block := range blocks {
				s.readOffset(group.GroupId, place{topic, partition}, block)
			}
		}
	}
}

func (s *scrape) readOffset(group string, at place, block *sarama.OffsetFetchResponseBlock) {
	if block.Err != sarama.ErrNoError {
		log.Fatal(group, at, block.Err)
	}
	if block.Offset < 0 {
		return
	}
	labels := fmt.Sprintf("{consumergroup=%q,topic=%q,partition=\"%d\"}", group, at.topic, at.partition)
	s.add("kafka_consumergroup_current_offset"+labels, block.Offset)
	s.add("kafka_consumergroup_lag"+labels, s.ends[at]-block.Offset)
}
