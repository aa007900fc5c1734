package burst.controller.limits

import burst.protocol.Timestamp
import scala.concurrent.duration.{DurationLong, FiniteDuration}

/** What there is of something in this minute already, how much there may be, and when the next one begins. */
final case class MinuteUsed(count: Int, allowed: Int, retryAfter: FiniteDuration)

/** So many of something in each minute of the calendar, for each namespace, as OpenWhisk counts. Of more than
  * `most` namespaces those are forgotten that were not asked for for longest.
  */
final class MinuteCounts(clock: () => Timestamp = () => Timestamp.now(), most: Int = 100_000):
  import MinuteCounts.*

  private val counts = LruCache[String, Count](most)

  /** Takes one off, or says why there is none. */
  def take(namespace: String, allowed: Int): Either[MinuteUsed, Unit] = synchronized:
    val now = clock().millis
    val count = counts.computeIfAbsent(namespace, _ => Count(0, 0))
    // Also when the clock was set back.
    if count.minute != now / Minute then
      count.minute = now / Minute
      count.taken = 0
    if count.taken < allowed then
      count.taken += 1
      Right(())
    else
      Left(MinuteUsed(
        count = count.taken,
        allowed = allowed,
        retryAfter = (Minute - now % Minute).ceilDiv(1000).seconds
      ))

  /** Puts one back that came to nothing; of a minute that is over nothing is left. */
  def giveBack(namespace: String): Unit = synchronized:
    Option(counts.get(namespace))
      .filter(_.minute == clock().millis / Minute)
      .foreach(count => count.taken = (count.taken - 1).max(0))

object MinuteCounts:
  private val Minute = 60_000L

  private final class Count(var minute: Long, var taken: Int)

  extension (number: Long) private def ceilDiv(by: Long): Long = (number + by - 1) / by
