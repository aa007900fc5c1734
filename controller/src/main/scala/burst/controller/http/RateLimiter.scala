package burst.controller.http

import java.util.concurrent.ConcurrentHashMap

/** Requests per namespace and minute: a bucket that holds one minute's worth and fills up evenly. `clock` is
  * in nanoseconds.
  */
final class RateLimiter(clock: () => Long = () => System.nanoTime()):
  import RateLimiter.*

  private val buckets = ConcurrentHashMap[String, Bucket]()

  /** Takes one request off, or says in how many whole seconds there will be one. */
  def take(namespace: String, perMinute: Int): Either[Long, Unit] =
    buckets.computeIfAbsent(namespace, _ => Bucket(perMinute, clock())).take(perMinute, clock())

private object RateLimiter:
  private val Minute = 60e9

  final class Bucket(private var level: Double, private var filled: Long):
    def take(perMinute: Int, now: Long): Either[Long, Unit] = synchronized:
      level = (level + (now - filled).max(0) * (perMinute / Minute)).min(perMinute)
      filled = now
      if level >= 1 then
        level -= 1
        Right(())
      else if perMinute <= 0 then Left(60)
      else Left(((1 - level) * 60 / perMinute).ceil.toLong.max(1))
