package burst.protocol

import io.circe.{Codec, Decoder, Encoder}
import java.time.Instant
import java.time.temporal.ChronoUnit
import java.util.concurrent.TimeUnit.{MICROSECONDS, MILLISECONDS}
import scala.concurrent.duration.FiniteDuration

/** A moment of the time of day, as a clock tells it that somebody may set. In messages and in the database it
  * is the number of microseconds since the epoch. What others send may be any number: sums and differences
  * stay within what a number can hold.
  */
opaque type Timestamp = Long

object Timestamp:
  val Epoch: Timestamp = 0L

  def ofMicros(micros: Long): Timestamp = micros
  def ofMillis(millis: Long): Timestamp = MILLISECONDS.toMicros(millis)
  def of(instant: Instant): Timestamp = ChronoUnit.MICROS.between(Instant.EPOCH, instant)

  /** By this machine's clock. */
  def now(): Timestamp = of(Instant.now())

  /** What a [[scala.concurrent.duration.FiniteDuration]] can hold. */
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

/** Or the largest or smallest number, where there is no such. */
private[burst] def saturatedSum(one: Long, other: Long): Long =
  val sum = one + other
  if ((one ^ sum) & (other ^ sum)) >= 0 then sum else if one < 0 then Long.MinValue else Long.MaxValue

private[burst] def saturatedDifference(one: Long, other: Long): Long =
  val difference = one - other
  if ((one ^ other) & (one ^ difference)) >= 0 then difference
  else if one < 0 then Long.MinValue
  else Long.MaxValue
