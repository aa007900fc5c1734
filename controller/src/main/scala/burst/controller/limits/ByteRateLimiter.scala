package burst.controller.limits

import burst.node.MonotonicTime
import java.util.concurrent.ConcurrentHashMap
import scala.concurrent.duration.{DurationLong, FiniteDuration}

/** How many bytes of something a namespace may have in a second: a bucket of `burst` bytes for each, which
  * fills up by `rate` bytes a second, so that no namespace keeps what all of them share to itself.
  */
final class ByteRateLimiter(rate: Long, burst: Long, clock: () => MonotonicTime = () => MonotonicTime.now()):
  private val buckets = ConcurrentHashMap[String, ByteRateLimiter.Bucket]()

  /** Takes so many bytes off, if they are there. */
  def take(namespace: String, bytes: Long): Boolean = filled(namespace): bucket =>
    val there = bucket.level >= bytes
    if there then bucket.level -= bytes
    there

  /** Takes so many bytes off, which may be before they are there, and says how long it takes until they are.
    * Nothing when others wait for a burst already: nobody waits for longer than one takes, or his own bytes.
    */
  def spend(namespace: String, bytes: Long): Option[FiniteDuration] = filled(namespace): bucket =>
    Option.when(bucket.level >= 0 || bucket.level - bytes >= -burst):
      bucket.level -= bytes
      (bucket.level.min(0) / rate * -1e9).ceil.toLong.nanos

  /** What was spent came to nothing. */
  def giveBack(namespace: String, bytes: Long): Unit = filled(namespace): bucket =>
    bucket.level = (bucket.level + bytes).min(burst.toDouble)

  private def filled[A](namespace: String)(use: ByteRateLimiter.Bucket => A): A =
    val bucket = buckets.computeIfAbsent(namespace, _ => ByteRateLimiter.Bucket(burst.toDouble, clock()))
    bucket.synchronized:
      val now = clock()
      bucket.level = (bucket.level + (now - bucket.filled).toNanos.max(0) * (rate / 1e9)).min(burst.toDouble)
      bucket.filled = now
      use(bucket)

object ByteRateLimiter:
  private final class Bucket(var level: Double, var filled: MonotonicTime)
