{# What clients raise, by when a document permits that such an error ends them.

   A name is that of the exception of Java, kafka-python or aiokafka, of the error of librdkafka, or
   of a guest's client: in small letters, without its package, without `_`, and without `Exception`,
   `Failed` or `Error` at its end, so that one name is that of all clients. #}
{% set errors_of_clients = {
  "reset": {
    "names": "logtruncation offsetoutofrange nooffsetforpartition autooffsetreset
      nooffsettoautomaticallyresetto kafkajsoffsetoutofrange",
    "document": "KIP-320; Javadoc of KafkaConsumer.poll: raised with auto.offset.reset=none"},
  "rebalance": {
    "names": "commit rebalanceinprogress illegalgeneration unknownmemberid stalememberepoch
      fencedmemberepoch maxpollexceeded assignmentlost groupsession kafkajsstaletopicmetadata
      unjoinedgroup",
    "document": "Javadoc of CommitFailedException and RebalanceInProgressException"},
  "wait": {
    "names": "timeout timedout kafkatimeout requesttimedout timedoutqueue transport network
      brokertransportfailure allbrokersdown allbrokerconnectionsaredown nobrokersavailable
      operationtimedout offsetsloadinprogress consumercoordinatornotavailable
      notcoordinatorforconsumer
      kafkajsgroupcoordinatornotfound
      kafkaconnection kafkajsconnection kafkajsrequesttimeout kafkajsnumberofretriesexceeded
      brokernotavailable nodenotready disconnect coordinatornotavailable notcoordinator
      coordinatorloadinprogress leadernotavailable notleaderforpartition notleaderorfollower
      replicanotavailable fencedleaderepoch unknownleaderepoch unknowntopicorpart
      unknowntopicorpartition unknowntopicid kafkastorage offsetnotavailable stalemetadata
      retriablecommit resolve waitcoord notenoughreplicas notenoughreplicasafterappend msgtimedout
      concurrenttransactions",
    "document": "Javadoc of KafkaConsumer: a call ends with TimeoutException after
      default.api.timeout.ms, of ProducerConfig: a send after delivery.timeout.ms;
      CONFIGURATION.md of librdkafka, socket.timeout.ms; KIP-516: a topic that was created again is
      not known by its former id"},
  "call": {
    "names": "wakeup interrupt",
    "document": "Javadoc of KafkaConsumer.wakeup: the application ends the call"},
  "notice": {
    "names": "dataloss",
    "document": "franz-go, kgo.ErrDataLoss: the client has set its position, and goes on"},
  "loss": {
    "names": "streamingquery",
    "document": "Spark, Kafka Integration Guide: failOnDataLoss ends a query that lost records"},
  "access": {
    "names": "authorization topicauthorization groupauthorization clusterauthorization
      transactionalidauthorization saslauthentication authentication kafkajssaslauthentication",
    "document": "Javadoc of KafkaConsumer.poll: raised without the access control entry"},
  "codec": {
    "names": "unsupportedcodec badcompression kafkajsnotimplemented",
    "document": "kafka-python, README: lz4, snappy and zstd need a package of their own"},
  "refusal": {
    "names": "offsetmetadatatoolarge recordtoolarge messagesizetoolarge msgsizetoolarge
      messagetoolarge recordbatchtoolarge",
    "document": "offset.metadata.max.bytes, max.message.bytes: a broker refuses metadata, or a batch, that is
      larger"},
  "fenced": {
    "names": "producerfenced invalidproducerepoch",
    "document": "KIP-98, Javadoc of KafkaProducer.initTransactions: a newer producer with the same
      transactional.id fences older ones"},
  "aborted": {
    "names": "transactionaborted transactionabortable purgequeue invalidtxnstate invalidpidmapping
      outofordersequencenumber outofordersequence unknownproducerid",
    "document": "Javadoc of KafkaProducer, KIP-360, KIP-890: the application aborts, or opens a new
      producer"},
  "replaced": {
    "names": "fencedinstanceid fencedinstancedid staticconsumerfenced",
    "document": "KIP-345: the older process of a group.instance.id is fenced"},
  "refused": {
    "names": "unreleasedinstanceid",
    "document": "KIP-848: a process is refused while another one has its group.instance.id"},
  "exit": {
    "names": "guestexited",
    "document": "docs/guests.md: a guest that can not go on exits with another status than 0;
      docs/faults.md: a kill ends its process"},
  "other": {
    "names": "kafka kafkajs illegalstate illegalargument concurrentmodification serialization
      unknownserver unknown invalidtopic fail state invalidarg",
    "document": "no document of our list permits it here"},
  "fatal": {
    "names": "fatal unsupportedversion unsupportedassignor unsupportedcompressiontype
      inconsistentgroupprotocol invalidgroupid groupmaxsizereached invalidrequest invalidconfig
      invalidconfiguration corruptrecord recorddeserialization invalidmsg badmsg
      invalidregularexpression streamstopologyfenced",
    "document": "no document of our list permits it here"}} %}

{# Of an error's sort: whether a document permits it in each state. #}
{% set is_documented_always = "coalesce(sort in ('call', 'notice', 'refusal'), false)" %}

{# An error's name as it is in that list. #}
{% macro error_name(exception, message) -%}
{% set own = "regexp_replace(regexp_extract(" ~ exception ~ ", '([^.]*)$', 1),
    '^(Local|Broker): ', '')" %}
case
  when {{ exception }} = '_FATAL'
    and {{ message }} rlike 'Static consumer fenced|FENCED_INSTANCE_ID'
    then 'fencedinstanceid'
  when {{ exception }} = '_FATAL' and {{ message }} rlike 'UNRELEASED_INSTANCE_ID'
    then 'unreleasedinstanceid'
  else regexp_replace(regexp_replace(lower(translate({{ own }}, '_ -*', '')), '^err', ''),
    '(failed)?(exception|error)?$', '')
end
{%- endmacro %}

{# Which of the list a name is of; null: of none. And its document. #}
{% macro error_sort(name) -%}
case
  {% for sort, known in errors_of_clients.items() %}
  when {{ name }} in ('{{ known.names.split() | join("', '") }}') then '{{ sort }}'
  {% endfor %}
end
{%- endmacro %}
{% macro error_document(sort) -%}
case {{ sort }}
  {% for sort, known in errors_of_clients.items() %}
  when '{{ sort }}' then '{{ known.document.split() | join(" ") }}'
  {% endfor %}
  else 'no document is known of it' end
{%- endmacro %}
