package burst.protocol.link

import burst.protocol.*
import java.io.NotSerializableException
import org.apache.pekko.actor.ExtendedActorSystem
import org.apache.pekko.actor.typed.{ActorRefResolver, ActorSystem}
import org.apache.pekko.actor.typed.scaladsl.Behaviors
import org.apache.pekko.actor.typed.scaladsl.adapter.TypedActorSystemOps
import org.apache.pekko.serialization.{SerializationExtension, SerializerWithStringManifest}
import org.apache.pekko.util.ByteString
import scala.concurrent.Await
import scala.concurrent.duration.DurationInt

class LinkSerializerSuite extends munit.FunSuite:
  private val system = ActorSystem(Behaviors.empty[Nothing], "serializer")
  private val serializer = LinkSerializer(system.toClassic.asInstanceOf[ExtendedActorSystem])

  override def afterAll(): Unit =
    system.terminate()
    Await.result(system.whenTerminated, 20.seconds)

  private val flare = FlareId.random()
  private val packageId = PackageId.of(Array[Byte](1))
  private val status = InvokerStatus(InvokerId("i"), 4, 0.5, "process", 1, RuntimeInfo("x86_64", "2.36"))
  private val assignment = PackAssignment(
    flare,
    2,
    DefinitionRef("guest", "hello", "0.0.1", packageId),
    PackId(1),
    Vector(2, 2),
    Inputs.Each(Vector(JsonText("1"), JsonText("""{"a":null}"""))),
    BackendConfig("redis-list", Some("redis://:secret@h"), Some(1024)),
    Secret.random(),
    17.micros,
    256,
    autostart = false,
    origin = Some(Origin("request1", Some(TraceContext.of("a" * 32, "b" * 16, sampled = true))))
  )
  private val failure = Failure(FailureKind.Panic, "boom", worker = Some(3), pack = Some(PackId(1)))

  private def messages: Vector[LinkMessage | ToInvoker | ToController] =
    val anyone = system.deadLetters[Any]
    Vector(
      Hello(2, Some(3), status.id, 3, anyone, "9f86"),
      Welcome(7, Some(2), 3, 10.seconds, anyone, anyone, Some(Timestamp.ofMicros(12))),
      Seen(12),
      Seen(12, free = Some(true)),
      Seen(13, Some(Vector(WantedPacks(4, 256, 2)))),
      WantRoom(Vector(WantedPacks(4, 256, 2))),
      NothingMore,
      Refused("there is another one"),
      Over(anyone, handsOver = true),
      Beat(4, status, anyone),
      Farewell("it was stopped"),
      PreparePack(assignment),
      PreparePack(assignment.copy(definition = assignment.definition.copy(logs = 10))),
      PreparePack(assignment.copy(group = Some(GroupRole.Holder(1.minute)))),
      PreparePack(assignment.copy(group = Some(GroupRole.Member(flare)))),
      StartPack(flare, PackId(1), Vector(Some("h:1"), None)),
      AbortPack(flare, PackId(1), failure),
      OutputStored(flare, PackId(1)),
      CleanFlare(flare, assignment.backend),
      AdoptPack(flare, 2, PackId(1)),
      PackStored(flare, 2, PackId(1), 12, over = false),
      PackageChunk(packageId, 5, ByteString(0, -1, 127), 8),
      PackageMissing(packageId),
      PackReport(
        flare,
        2,
        PackId(1),
        status.id,
        Some(PackStart.Warm),
        Vector(
          PackEvent.Ready(Some("h:2"), Timestamp.ofMicros(1)),
          PackEvent.Log(None, LogStream.Stderr, "line", Timestamp.ofMicros(2)),
          PackEvent.Output(2, "{\"x\":"),
          PackEvent.WorkerSucceeded(2, "null}", Timestamp.ofMicros(3)),
          PackEvent.WorkerFailed(3, failure, Timestamp.ofMicros(4)),
          PackEvent.PackEnded(reusable = false, Some(failure), Timestamp.ofMicros(5))
        )
      ),
      FlareCleaned(flare, Some(failure)),
      FetchPackage(packageId, 5),
      Holds(Vector(PackKey(flare, 2, PackId(1))), unbroken = true, Some(Timestamp.ofMicros(12))),
      InvokerBundle(Vector(StartPack(flare, PackId(1), Vector.empty), OutputStored(flare, PackId(1)))),
      ControllerBundle(Vector(FlareCleaned(flare, None), FetchPackage(packageId, 5)))
    )

  test("every message is read as it was written"):
    messages.foreach: message =>
      val bytes = serializer.toBinary(message)
      assertEquals(serializer.fromBinary(bytes, serializer.manifest(message)), message)

  test("Pekko uses this serializer for all link messages"):
    val extension = SerializationExtension(system.toClassic)
    messages.foreach: message =>
      extension.serializerFor(message.getClass) match
        case found: SerializerWithStringManifest => assertEquals(found.identifier, serializer.identifier)
        case other => fail(s"${message.getClass} is written by $other")

  test("Hello and its refusal are understood with additional fields of any release"):
    val anyone = system.deadLetters[ToLink]
    val path = ActorRefResolver(system).toSerializationFormat(anyone)
    val hello = s"""{"version":9,"id":"i","tries":3,"from":"$path","home":"9f86","more":{}}"""
    val read = Hello(9, None, InvokerId("i"), 3, anyone, "9f86")
    assertEquals(serializer.fromBinary(hello.getBytes, "hello"), read)
    val refused = """{"type":"refused","reason":"upgrade","more":{}}"""
    assertEquals(serializer.fromBinary(refused.getBytes, "to-link"), Refused("upgrade"))

  test("damaged and unknown messages are refused without being shown"):
    val bytes = serializer.toBinary(PreparePack(assignment))
    val refused = intercept[NotSerializableException](serializer.fromBinary(bytes.dropRight(9), "to-invoker"))
    assert(!refused.getMessage.contains(flare.value), refused.getMessage)
    intercept[NotSerializableException](serializer.fromBinary(bytes, "to-controller"))
    intercept[NotSerializableException](serializer.fromBinary(bytes, "poem"))

  test("messages of the previous release are read: missing values as null, and the type at the end"):
    val report =
      s"""{"flareId":"${flare.value}","attempt":2,"pack":1,"invoker":"i","start":null,"events":[""" +
        """{"worker":null,"stream":"stderr","text":"line","at":2,"event":"log"},""" +
        """{"worker":3,"error":{"kind":"out-of-memory","message":"boom","worker":3,"pack":null,"invoker":null,""" +
        """"operation":null},"at":4,"event":"worker-failed"}],"slots":null,"begins":null,"number":7,"more":[{}],""" +
        """"type":"pack-report"}"""
    val read = PackReport(
      flare,
      2,
      PackId(1),
      InvokerId("i"),
      None,
      Vector(
        PackEvent.Log(None, LogStream.Stderr, "line", Timestamp.ofMicros(2)),
        PackEvent.WorkerFailed(
          3,
          Failure(FailureKind.OutOfMemory, "boom", worker = Some(3)),
          Timestamp.ofMicros(4)
        )
      ),
      number = Some(7)
    )
    assertEquals(serializer.fromBinary(report.getBytes, "to-controller"), read)
    val bundle = s"""{"messages":[$report,$report],"type":"controller-bundle"}"""
    assertEquals(
      serializer.fromBinary(bundle.getBytes, "to-controller"),
      ControllerBundle(Vector(read, read))
    )

  test("a controller of the previous release sends no log limit"):
    def withLogs(logs: Int) =
      PreparePack(assignment.copy(definition = assignment.definition.copy(logs = logs)))
    val written = String(serializer.toBinary(withLogs(10)))
    val before = written.replace(",\"logs\":10", "")
    assertNotEquals(before, written)
    assertEquals(serializer.fromBinary(before.getBytes, "to-invoker"), withLogs(DefinitionRef.WorkerLogs))

  test("frequent messages are written as elsewhere, except for missing values"):
    val written = String(serializer.toBinary(StartPack(flare, PackId(1), Vector(Some("h:1"), None))))
    val expected = s"""{"type":"start-pack","flareId":"${flare.value}","pack":1,"endpoints":["h:1",null]}"""
    assertEquals(written, expected)

  test("times are numbers in their established units"):
    def written(message: AnyRef) = String(serializer.toBinary(message))
    val held = assignment.copy(timeLeft = 90.seconds, group = Some(GroupRole.Holder(1.minute)))
    assert(written(PreparePack(held)).contains(""""timeLeft":90000000,"""))
    assert(written(PreparePack(held)).contains(""""idleTimeout":60000}"""))
    val noon = Timestamp.ofMillis(1_700_000_000_000L)
    val welcome = Welcome(7, None, 3, 10.seconds, system.deadLetters, system.deadLetters, Some(noon))
    assert(written(welcome).contains(""""contact":10000,"""))
    assert(written(welcome).contains(""""at":1700000000000000,"""))
    val ready = PackReport(flare, 1, PackId(0), status.id, None, Vector(PackEvent.Ready(None, noon)))
    assert(written(ready).contains(""""at":1700000000000000}"""))
    assert(written(Holds(
      Vector.empty,
      unbroken = false,
      Some(noon)
    )).endsWith(""""since":1700000000000000}"""))

  test("half a surrogate pair is replaced by a mark, and ends no session"):
    def sent(name: String, value: String) =
      PreparePack(assignment.copy(environment = Environment(Map(name -> value))))
    val bytes = serializer.toBinary(sent("A", "x\ud800y \ud83d\ude00"))
    assertEquals(serializer.fromBinary(bytes, "to-invoker"), sent("A", "x?y \ud83d\ude00"))
    val named = serializer.toBinary(sent("\udc00", "x"))
    assertEquals(serializer.fromBinary(named, "to-invoker"), sent("?", "x"))
    def withLine(line: String) =
      PackReport(
        flare,
        2,
        PackId(1),
        status.id,
        None,
        Vector(PackEvent.Log(None, LogStream.Stdout, line, Timestamp.ofMicros(2)))
      )
    val logged = serializer.toBinary(withLine("x\ud800"))
    assertEquals(serializer.fromBinary(logged, "to-controller"), withLine("x?"))

  test("messages may exceed the reader's default limits on number and length"):
    val many = Environment(Map.from((1 to 3000).map(n => s"V$n" -> "x" * 2000)))
    val long = JsonText("\"" + "x" * (6 << 20) + "\"")
    val message = PreparePack(assignment.copy(environment = many, inputs = Inputs.Shared(long)))
    assertEquals(serializer.fromBinary(serializer.toBinary(message), "to-invoker"), message)
    val output = PackReport(
      flare,
      1,
      PackId(0),
      InvokerId("i"),
      None,
      Vector(PackEvent.Output(0, "\u00e9" * (6 << 20)))
    )
    assertEquals(serializer.fromBinary(serializer.toBinary(output), "to-controller"), output)

  private def refusal(kind: String, text: String): String =
    intercept[NotSerializableException](serializer.fromBinary(text.getBytes, kind)).getMessage

  test("a decoding failure names the field or the byte at fault"):
    val path = ActorRefResolver(system).toSerializationFormat(system.deadLetters[ToLink])
    assertEquals(
      refusal("hello", s"""{"id":"i","tries":1,"from":"$path","home":"own"}"""),
      "a damaged message 'hello', at .version"
    )
    assertEquals(
      refusal("to-link", """{"type":"seen","beat":[1]}"""),
      "a damaged message 'to-link', at .beat"
    )
    assertEquals(
      refusal("to-link", """{"type":"seen","beat":1e999999999}"""),
      "a damaged message 'to-link', at .beat"
    )
    assertEquals(refusal("to-link", "{\"type\":"), "a message 'to-link' that is no JSON")
    Vector("""{"type":"poem"}""", "{}", "null", "[]", "7").foreach: text =>
      assert(refusal("to-invoker", text).startsWith("a damaged message 'to-invoker'"), text)
    Vector(
      """{"type":"start-pack","flareId":"swordfish","pack":1,"endpoints":[]}""",
      s"""{"type":"start-pack","flareId":"${flare.value}","pack":"swordfish","endpoints":[]}""",
      s"""{"type":"swordfish","flareId":"${flare.value}","pack":1,"endpoints":[]}""",
      s"""{"type":"start-pack","flareId":"${flare.value}","pack":1}""",
      s"""{"type":"start-pack","flareId":null,"pack":1,"endpoints":[]}""",
      s"""{"type":"abort-pack","flareId":"${flare.value}","pack":1,"failure":{"kind":"a, offset: 0x1","message":""}}""",
      s"""{"type":"package-chunk","packageId":"${packageId.value}","offset":5,"bytes":null,"total":8}""",
      String(serializer.toBinary(PreparePack(assignment))).replace("\"MQ==\"", "null")
    ).foreach: text =>
      val message = refusal("to-invoker", text)
      assert(message.matches("a damaged message 'to-invoker', at byte [0-9]+"), message)

  test("the contact time of a welcome must be valid"):
    val path = ActorRefResolver(system).toSerializationFormat(system.deadLetters[Any])
    def welcome(contact: String): String =
      s"""{"type":"welcome","epoch":1,"tries":1,"contact":$contact,"session":"$path","toInvoker":"$path"}"""
    Vector("0", "-1", Long.MaxValue.toString, "null").foreach: contact =>
      assertEquals(refusal("to-link", welcome(contact)), "a damaged message 'to-link', at .contact")
    assert(serializer.fromBinary(welcome("1").getBytes, "to-link").isInstanceOf[Welcome])

  test("deeply nested input is refused or skipped like any other"):
    val deep = "[" * 500_000 + "]" * 500_000
    val farewell =
      serializer.fromBinary(s"""{"type":"farewell","reason":"x","more":$deep}""".getBytes, "to-session")
    assertEquals(farewell, Farewell("x"))
    assertEquals(
      refusal("to-session", s"""{"type":"farewell","reason":$deep}"""),
      "a damaged message 'to-session', at .reason"
    )
    assert(refusal("to-session", deep).startsWith("a damaged message 'to-session'"))
