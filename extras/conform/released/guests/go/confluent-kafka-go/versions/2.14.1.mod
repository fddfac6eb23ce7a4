module guests

go 1.24.3

require github.com/confluentinc/confluent-kafka-go/v2 v2.14.1
