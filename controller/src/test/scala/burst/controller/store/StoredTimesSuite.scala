package burst.controller.store

import burst.controller.action.{ActivationHead, ActivationStatus}
import burst.controller.definition.{FlareOptions, FlareTerms}
import burst.controller.placement.Packing
import burst.protocol.{FlareId, Timestamp}
import io.circe.JsonObject
import io.circe.parser.decode
import io.circe.syntax.*
import scala.concurrent.duration.DurationInt

/** Rows of earlier releases exist, so the unit of each stored number must stay the same. */
class StoredTimesSuite extends munit.FunSuite:
  private val id = FlareId.random()

  test("time-outs of definitions and flares are milliseconds"):
    assertEquals(
      decode[FlareOptions]("""{"timeout":90000}"""),
      Right(FlareOptions(timeout = Some(90.seconds)))
    )
    val terms =
      """{"granularity":null,"packing":"mixed","backend":"direct","chunkSize":null,"timeout":90000,"memory":64,"retries":0}"""
    val read = FlareTerms(
      packing = Packing.Mixed,
      backend = "direct",
      timeout = 90.seconds,
      memory = 64,
      retries = 0
    )
    assertEquals(decode[FlareTerms](terms), Right(read))
    assertEquals(read.asJson.noSpaces, terms)

  test("an activation's times are milliseconds, and any number can be read"):
    def record(start: Long, end: Long, duration: Long) =
      s"""{"id":"${id.value}","namespace":"guest","name":"a","version":"0.0.1","subject":"guest","start":$start,""" +
        s""""end":$end,"duration":$duration,"cause":null,"status":0,"annotations":{}}"""
    val head = ActivationHead(
      id,
      namespace = "guest",
      name = "a",
      version = "0.0.1",
      subject = "guest",
      start = Timestamp.ofMillis(1700000000000L),
      end = Some(Timestamp.ofMillis(1700000000250L)),
      duration = Some(250.millis),
      cause = None,
      status = ActivationStatus.Success,
      annotations = JsonObject.empty
    )
    assertEquals(decode[ActivationHead](record(1700000000000L, 1700000000250L, 250)), Right(head))
    assertEquals(head.asJson.noSpaces, record(1700000000000L, 1700000000250L, 250))
    // One unreadable record would make all records of its namespace unreadable.
    for number <- Vector(Long.MaxValue, Long.MinValue, -1L) do
      assert(decode[ActivationHead](record(number, number, number)).isRight, s"$number")
