package burst.protocol

import io.circe.parser.decode
import io.circe.syntax.*

class WireFormatSuite extends munit.FunSuite:
  test("a pack event carries its kebab-case name and its fields side by side"):
    val event: PackEvent = PackEvent.WorkerStarted(4, 7)
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
    val shared: Inputs = Inputs.Shared(1.asJson)
    val each: Inputs = Inputs.Each(Vector(1.asJson, 2.asJson))
    assertEquals(decode[Inputs](shared.asJson.noSpaces), Right(shared))
    assertEquals(decode[Inputs](each.asJson.noSpaces), Right(each))

  test("neither a secret nor a backend's address shows when printed"):
    assert(!Secret("ab" * 32).toString.contains("abab"))
    assert(!BackendConfig("redis-list", Some("redis://:pw@h"), Some(1)).toString.contains("pw"))
