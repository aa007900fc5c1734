package burst.controller.http

import burst.controller.limits.LruCache
import burst.node.MonotonicTime
import scala.concurrent.duration.{DurationInt, DurationLong, FiniteDuration}

/** A limit per minute, for each namespace or client: a bucket that holds one minute's worth and refills
  * evenly. Beyond `most` keys, the least recently used are forgotten.
  */
final class RateLimiter(clock: () => MonotonicTime = () => MonotonicTime.now(), most: Int = 100_000):
  import RateLimiter.*

  private val buckets = LruCache[String, Bucket](most)

  /** Takes one, or returns how long, in whole seconds, until one is available. */
  def take(key: String, perMinute: Int): Either[FiniteDuration, Unit] = synchronized:
    buckets.computeIfAbsent(key, _ => Bucket(perMinute, clock())).take(perMinute, clock())

  /** Returns one that was not used after all. */
  def giveBack(key: String, perMinute: Int): Unit = synchronized:
    Option(buckets.get(key)).foreach(_.giveBack(perMinute))

private object RateLimiter:
  private val Minute = 60e9

  final class Bucket(private var level: Double, private var filled: MonotonicTime):
    def take(perMinute: Int, now: MonotonicTime): Either[FiniteDuration, Unit] =
      level = (level + (now - filled).toNanos.max(0) * (perMinute / Minute)).min(perMinute)
      filled = now
      if level >= 1 then
        level -= 1
        Right(())
      else if perMinute <= 0 then Left(60.seconds)
      else Left(((1 - level) * 60 / perMinute).ceil.toLong.max(1).seconds)

    def giveBack(perMinute: Int): Unit = level = (level + 1).min(perMinute)
