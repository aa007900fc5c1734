package burst.protocol

import io.circe.{Codec, Decoder, Encoder}
import java.time.Instant
import java.time.temporal.ChronoUnit
import java.util.concurrent.TimeUnit.{MICROSECONDS, MILLISECONDS}
import scala.concurrent.duration.FiniteDuration

/** A time of day, by a clock that can be set. In messages and in the database it is the number of
  * microseconds since the epoch. Other nodes can send any number: sums and differences saturate.
  */
opaque type Timestamp = Long

object Timestamp:
  val Epoch: Timestamp = 0L

  def ofMicros(micros: Long): Timestamp = micros
  def ofMillis(millis: Long): Timestamp = MILLISECONDS.toMicros(millis)
  def of(instant: Instant): Timestamp = ChronoUnit.MICROS.between(Instant.EPOCH, instant)

  /** The current time by this machine's clock. */
  def now(): Timestamp = of(Instant.now())

  /** The most microseconds that a [[scala.concurrent.duration.FiniteDuration]] can hold. */
  private val Longest = Long.MaxValue / 1000

  extension (at: Timestamp)
    def micros: Long = at
    def millis: Long = at / 1000
    def instant: Instant = Instant.EPOCH.plus(at, ChronoUnit.MICROS)

    def +(time: FiniteDuration): Timestamp = saturatedSum(at, time.toMicros)
    def -(time: FiniteDuration): Timestamp = saturatedSum(at, -time.toMicros)
    def -(earlier: Timestamp): FiniteDuration =
      val passed = saturatedDifference(at, earlier)
      FiniteDuration(Math.max(-Longest, Math.min(passed, Longest)), MICROSECONDS)

    def <(other: Timestamp): Boolean = at < other
    def <=(other: Timestamp): Boolean = at <= other
    def >(other: Timestamp): Boolean = at > other
    def >=(other: Timestamp): Boolean = at >= other
    def max(other: Timestamp): Timestamp = Math.max(at, other)
    def min(other: Timestamp): Timestamp = Math.min(at, other)

  given Ordering[Timestamp] = Ordering.Long
  given Codec[Timestamp] = Codec.from(Decoder.decodeLong, Encoder.encodeLong)

/** The sum, or the largest or smallest number if it overflows. */
private[burst] def saturatedSum(one: Long, other: Long): Long =
  val sum = one + other
  if ((one ^ sum) & (other ^ sum)) >= 0 then sum else if one < 0 then Long.MinValue else Long.MaxValue

private[burst] def saturatedDifference(one: Long, other: Long): Long =
  val difference = one - other
  if ((one ^ other) & (one ^ difference)) >= 0 then difference
  else if one < 0 then Long.MinValue
  else Long.MaxValue
