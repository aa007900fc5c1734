package burst.protocol

import burst.protocol.MessageCodecs.given
import com.github.plokhotnyuk.jsoniter_scala.core.{readFromString, writeToString}
import io.circe.Json
import io.circe.parser.{decode, parse}
import io.circe.syntax.*
import scala.concurrent.duration.DurationInt

class WireFormatSuite extends munit.FunSuite:
  test("a pack event carries its kebab-case name and its fields side by side"):
    val event: PackEvent = PackEvent.WorkerStarted(4, Timestamp.ofMicros(7))
    assertEquals(event.asJson.noSpaces, """{"worker":4,"at":7,"event":"worker-started"}""")
    assertEquals(decode[PackEvent](event.asJson.noSpaces), Right(event))

  test("a failure round-trips, and absent fields are none"):
    val failure = Failure(FailureKind.OutOfMemory, "killed", pack = Some(1))
    assertEquals(decode[Failure](failure.asJson.noSpaces), Right(failure))
    assertEquals(
      decode[Failure]("""{"kind":"out-of-memory","message":"killed","pack":1}"""),
      Right(failure)
    )

  test("an unknown event is refused, not guessed"):
    assert(decode[PackEvent]("""{"event":"party","at":1}""").isLeft)

  test("inputs are shared or one for each worker"):
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

  test("a pack's part of a flare is what the golden copies say"):
    val shared = RunPack(
      FlareId.parse("0123456789abcdef0123456789abcdef").get,
      1,
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
      0,
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

  test("a definition that says nothing of its log is what those of releases before were"):
    val logging = DefinitionRef("guest", "hello", "0.0.1", PackageId.Empty, logs = 10)
    assertEquals(decode[DefinitionRef](logging.asJson.noSpaces), Right(logging))
    val before = logging.asJson.mapObject(_.remove("logs"))
    assertEquals(before.as[DefinitionRef], Right(logging.copy(logs = DefinitionRef.WorkerLogs)))

  test("outputs are told as text, in pieces"):
    assertEquals(golden("told-output").as[PackEvent], Right(PackEvent.Output(4, """{"greeting":""")))
    assertEquals(
      golden("told-worker-succeeded").as[PackEvent],
      Right(PackEvent.WorkerSucceeded(
        4,
        """"Hello","numbers":[1,2.5,null]}""",
        Timestamp.ofMicros(1700000000000005L)
      ))
    )

  test("neither a secret nor a backend's address shows when printed"):
    assert(!Secret("ab" * 32).toString.contains("abab"))
    assert(!BackendConfig("redis-list", Some("redis://:pw@h"), Some(1)).toString.contains("pw"))
