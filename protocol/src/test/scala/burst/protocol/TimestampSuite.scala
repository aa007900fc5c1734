package burst.protocol

import io.circe.parser.decode
import io.circe.syntax.*
import scala.concurrent.duration.{DurationInt, DurationLong}

class TimestampSuite extends munit.FunSuite:
  private val noon = Timestamp.ofMillis(1_700_000_000_000L)

  test("adding the difference of two moments to one gives the other"):
    assertEquals(noon + 3.seconds - noon, 3.seconds)
    assertEquals(noon - (noon + 1.micro), -1.micro)
    assertEquals((noon - 1.milli).millis, 1_699_999_999_999L)
    assert(noon - 1.micro < noon && noon + 1.micro > noon)
    assertEquals(Vector(noon + 1.day, noon).sorted, Vector(noon, noon + 1.day))

  test("a timestamp keeps its microseconds and its instant"):
    assertEquals(noon.asJson.noSpaces, "1700000000000000")
    assertEquals(decode[Timestamp]("1700000000000000"), Right(noon))
    assertEquals(Timestamp.of(noon.instant), noon)

  test("sums and differences of any values stay within range"):
    val (first, last) = (Timestamp.ofMicros(Long.MinValue), Timestamp.ofMicros(Long.MaxValue))
    assertEquals((last + 1.day, first - 1.day), (last, first))
    assertEquals(Timestamp.ofMillis(Long.MaxValue), last)
    val longest = (Long.MaxValue / 1000).micros
    for moment <- Vector(noon, Timestamp.Epoch, Timestamp.ofMicros(-1)) do
      assertEquals((last - moment).max(moment - last), longest)
      assertEquals((moment - first).max(first - moment), longest)
