package burst.controller.limits

import burst.protocol.Timestamp
import scala.concurrent.duration.{DurationLong, FiniteDuration}

/** How many of something were used in this minute, how many are allowed, and when the next minute begins. */
final case class MinuteUsed(count: Int, allowed: Int, retryAfter: FiniteDuration)

/** Limits how many of something each namespace may use per calendar minute, as OpenWhisk counts. Of more than
  * `most` namespaces the least recently used ones are forgotten.
  */
final class MinuteCounts(clock: () => Timestamp = () => Timestamp.now(), most: Int = 100_000):
  import MinuteCounts.*

  private val counts = LruCache[String, Count](most)

  /** Takes one, or returns why there is none left. */
  def take(namespace: String, allowed: Int): Either[MinuteUsed, Unit] = synchronized:
    val now = clock().millis
    val count = counts.computeIfAbsent(namespace, _ => Count(0, 0))
    // Also if the clock was set back.
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

  /** Returns one that was not used after all; has no effect once its minute is over. */
  def giveBack(namespace: String): Unit = synchronized:
    Option(counts.get(namespace))
      .filter(_.minute == clock().millis / Minute)
      .foreach(count => count.taken = (count.taken - 1).max(0))

object MinuteCounts:
  private val Minute = 60_000L

  private final class Count(var minute: Long, var taken: Int)

  extension (number: Long) private def ceilDiv(by: Long): Long = (number + by - 1) / by
