package burst.protocol

import burst.protocol.MessageCodecs.given
import com.github.plokhotnyuk.jsoniter_scala.core.{
  readFromString,
  writeToString,
  JsonReaderException,
  JsonValueCodec
}
import com.github.plokhotnyuk.jsoniter_scala.macros.JsonCodecMaker
import io.circe.Json
import io.circe.parser.{decode, parse}
import io.circe.syntax.*
import java.io.File
import scala.concurrent.duration.DurationInt

class WireFormatSuite extends munit.FunSuite:
  private given JsonValueCodec[Vector[FailureKind]] = JsonCodecMaker.make

  test("a pack event carries its kebab-case name and its fields side by side"):
    val event: PackEvent = PackEvent.WorkerStarted(4, Timestamp.ofMicros(7))
    assertEquals(writeToString(event), """{"event":"worker-started","worker":4,"at":7}""")
    assertEquals(readFromString[PackEvent](writeToString(event)), event)

  test("a failure round-trips, and absent fields are none"):
    val failure = Failure(FailureKind.OutOfMemory, "killed", pack = Some(PackId(1)))
    assertEquals(decode[Failure](failure.asJson.noSpaces), Right(failure))
    assertEquals(
      decode[Failure]("""{"kind":"out-of-memory","message":"killed","pack":1}"""),
      Right(failure)
    )

  test("an unknown event is refused"):
    intercept[JsonReaderException](readFromString[PackEvent]("""{"event":"party","at":1}"""))

  test("inputs are shared, or one for each worker"):
    val some = Vector(
      Inputs.Shared(JsonText("1")),
      Inputs.Each(Vector(JsonText("[1]"), JsonText("{}"))),
      Inputs.OutOfLine(9)
    )
    some.foreach(inputs => assertEquals(readFromString[Inputs](writeToString(inputs)), inputs))
    assertEquals(
      some.map(_.text.utf8String),
      Vector("""{"shared":1}""", """{"each":[[1],{}]}""", """{"kept":9}""")
    )

  private def golden(name: String): Json =
    val text = scala.io.Source.fromResource(s"golden/$name.json").mkString
    parse(text).fold(throw _, identity)

  test("a pack's part of a flare matches the golden copies"):
    val shared = RunPack(
      FlareId.parse("0123456789abcdef0123456789abcdef").get,
      PackId(1),
      Vector(4, 4),
      Inputs.Shared(JsonText("""{"name":"World"}""")),
      BackendConfig("direct", None, None),
      Secret("00112233445566778899aabbccddeeff" * 2),
      "127.0.0.1",
      Timestamp.ofMicros(1700000060000000L),
      None,
      autostart = false,
      None,
      None,
      Environment.Empty
    )
    val each = RunPack(
      FlareId.parse("fedcba9876543210fedcba9876543210").get,
      PackId(0),
      Vector(2),
      Inputs.Each(Vector(JsonText("""{"part":1}"""), JsonText.Null)),
      BackendConfig("redis-list", Some("redis://127.0.0.1:6379/0"), Some(65536)),
      Secret("ffeeddccbbaa99887766554433221100" * 2),
      "pack-0.example",
      Timestamp.ofMicros(1700000000000001L),
      FlareId.parse("00112233445566778899aabbccddeeff"),
      autostart = true,
      Some(9.seconds),
      Some(608),
      Environment(Map(
        "activation_id" -> "fedcba9876543210fedcba9876543210",
        "action_name" -> "/guest/hello"
      )),
      Some(WorkerSpans(
        "4bf92f3577b34da6a3ce929d0e0e4736",
        sampled = true,
        Vector("00f067aa0ba902b7", "00f067aa0ba902b8")
      )),
      logLimit = Some(0)
    )
    assertEquals(parse(shared.body.utf8String), Right(golden("run-pack-shared")))
    assertEquals(parse(each.body.utf8String), Right(golden("run-pack-each")))

  test("a definition without a log limit has that of earlier releases"):
    val logging = DefinitionRef("guest", "hello", "0.0.1", PackageId.Empty, logs = 10)
    assertEquals(decode[DefinitionRef](logging.asJson.noSpaces), Right(logging))
    val before = logging.asJson.mapObject(_.remove("logs"))
    assertEquals(before.as[DefinitionRef], Right(logging.copy(logs = DefinitionRef.WorkerLogs)))

  test("a runtime's events match the golden copies"):
    def at(micros: Int) = Timestamp.ofMicros(1700000000000000L + micros)
    val peerFailed = Failure(
      FailureKind.PeerFailed,
      "the flare was aborted: worker 3 of pack 0 panicked in work: boom",
      Some(4),
      Some(PackId(1)),
      None,
      Some("recv")
    )
    val killed = Failure(
      FailureKind.Signal,
      "it was killed by signal 11 (SIGSEGV: it touched memory that is not its own)",
      Some(4),
      Some(PackId(1)),
      None,
      Some("work")
    )
    val examples = Map(
      "event-ready" -> PackEvent.Ready(Some("127.0.0.1:40001"), at(0)),
      "event-ready-without-endpoint" -> PackEvent.Ready(None, at(0)),
      "event-worker-started" -> PackEvent.WorkerStarted(4, at(1)),
      "event-phase" -> PackEvent.Phase(4, "read", at(2)),
      "event-log" ->
        PackEvent.Log(Some(4), LogStream.Stdout, "a \"quoted\" tab\t and é\n\nand two more", at(3)),
      "event-log-of-pack" -> PackEvent.Log(None, LogStream.Stderr, "", at(4)),
      "told-output" -> PackEvent.Output(4, """{"greeting":"""),
      "told-worker-succeeded" ->
        PackEvent.WorkerSucceeded(4, """"Hello","numbers":[1,2.5,null]}""", at(5)),
      "event-worker-failed" -> PackEvent.WorkerFailed(4, peerFailed, at(6)),
      "event-pack-ended" -> PackEvent.PackEnded(reusable = true, None, at(7)),
      "event-pack-ended-badly" -> PackEvent.PackEnded(reusable = false, Some(killed), at(8)),
      "event-pack-ended-with-traffic" ->
        PackEvent.PackEnded(reusable = true, None, at(9), Some(Traffic(12, 4096)))
    )
    examples.foreach: (name, event) =>
      assertEquals(readFromString[PackEvent](golden(name).noSpaces), event, name)
    val copies = File(getClass.getResource("/golden").toURI).list().map(_.stripSuffix(".json")).toSet
    val ofEvents = copies.filter(name => name.startsWith("event-") || name.startsWith("told-"))
    // Programs send these to their runtime; invokers receive outputs in another form.
    val ofPrograms = Set("event-worker-succeeded", "event-worker-succeeded-without-output")
    assertEquals(examples.keySet ++ ofPrograms, ofEvents)

  test("failures match the golden copies"):
    val panicked = Failure(
      FailureKind.Panic,
      "index out of bounds: the len is 3 but the index is 7 (at src/main.rs:12)",
      Some(3),
      Some(PackId(0)),
      Some(InvokerId("invoker0")),
      Some("work")
    )
    assertEquals(golden("failure").as[Failure], Right(panicked))
    assertEquals(
      golden("failure-anonymous").as[Failure],
      Right(Failure(FailureKind.OutOfMemory, "killed for using more memory than the pack has"))
    )
    val kinds = golden("failure-kinds")
    assertEquals(kinds.as[Vector[FailureKind]], Right(FailureKind.values.toVector))
    assertEquals(readFromString[Vector[FailureKind]](kinds.noSpaces), FailureKind.values.toVector)

  test("names and numbers shared with the runtimes match the golden copy"):
    val constants = golden("constants").hcursor
    assertEquals(constants.get[String]("versions").map(Versions.parse), Right(Some(Protocol.Runtimes)))
    assertEquals(constants.get[String]("versionsHeader"), Right(Protocol.VersionsHeader))
    assertEquals(constants.get[String]("versionHeader"), Right(Protocol.VersionHeader))
    assertEquals(constants.get[Int]("logLimit"), Right(DefinitionRef.WorkerLogs << 20))
    assertEquals(constants.get[Int]("message"), Right(Failure.MessageLimit))
    assertEquals(constants.get[Int]("operationName"), Right(Failure.OperationLimit))
    assertEquals(constants.get[String]("work"), Right(Operation.Work))
    assertEquals(constants.get[Set[String]]("startSteps"), Right(Operation.StartSteps))

  test("printing shows neither a secret nor a backend's address"):
    assert(!Secret("ab" * 32).toString.contains("abab"))
    assert(!BackendConfig("redis-list", Some("redis://:pw@h"), Some(1)).toString.contains("pw"))
