package burst.invoker.driver

import burst.protocol.BackendConfig

class BackendServerSuite extends munit.FunSuite:
  private def servers(kind: String, uri: String) =
    BackendServer.of(BackendConfig(kind, Some(uri), None)).map(s => (s.host, s.port))
  private def server(kind: String, uri: String) = servers(kind, uri).headOption

  test("a server's address is read from its URI, whatever the password"):
    assertEquals(server("redis-list", "redis://10.0.0.5"), Some(("10.0.0.5", 6379)))
    assertEquals(server("redis-list", "rediss://u:p%2f@cache.local:7000/1"), Some(("cache.local", 7000)))
    assertEquals(server("rabbitmq", "amqp://a:b@c@10.1.1.1/%2f"), Some(("10.1.1.1", 5672)))
    assertEquals(server("rabbitmq", "amqps://queue.local?heartbeat=5"), Some(("queue.local", 5671)))

  test("RabbitMQ's has its management API's port, too"):
    val (queues, api) = (("10.1.1.1", 5672), ("10.1.1.1", 15672))
    assertEquals(servers("rabbitmq", "amqp://a:b@10.1.1.1/%2f"), Vector(queues, api))
    assertEquals(servers("rabbitmq", "amqps://10.1.1.1").map(_._2), Vector(5671, 15671))
    val elsewhere = "amqp://a:b@10.1.1.1/%2f?management=http://10.2.2.2:8080"
    assertEquals(servers("rabbitmq", elsewhere), Vector(queues, ("10.2.2.2", 8080)))
    val shared = BackendConfig("rabbitmq", Some("amqp://10.1.1.1"), None, sharedCredentials = true)
    assertEquals(BackendServer.of(shared).size, 1)

  test("a bucket's is its endpoint's; Amazon's has no address to count on"):
    val uri = "s3://key:secret@bucket/prefix?region=x"
    assertEquals(server("s3", s"$uri&endpoint=http%3A%2F%2F10.0.0.5%3A9000"), Some(("10.0.0.5", 9000)))
    assertEquals(server("s3", s"$uri&endpoint=https://store.local"), Some(("store.local", 443)))
    assertEquals(server("s3", uri), None)

  test("what runs without a server has none"):
    assertEquals(BackendServer.of(BackendConfig("direct", None, None)), Vector.empty)
    assertEquals(server("direct", "tcp:"), None)
