package burst.controller.limits

import burst.node.MonotonicTime
import java.util.concurrent.ConcurrentHashMap
import scala.concurrent.duration.{DurationLong, FiniteDuration}

/** Limits the bytes per second that a namespace may use of something: a bucket of `burst` bytes for each,
  * filled at `rate` bytes a second, so that no namespace takes all of what is shared.
  */
final class ByteRateLimiter(rate: Long, burst: Long, clock: () => MonotonicTime = () => MonotonicTime.now()):
  private val buckets = ConcurrentHashMap[String, ByteRateLimiter.Bucket]()

  /** Takes this many bytes, if they are available; returns whether they were. */
  def take(namespace: String, bytes: Long): Boolean = filled(namespace): bucket =>
    val there = bucket.level >= bytes
    if there then bucket.level -= bytes
    there

  /** Takes this many bytes, even before they are available, and returns how long it takes until they are.
    * Returns nothing if a whole burst is already waited for: no caller waits longer than a burst takes, or
    * its own bytes.
    */
  def spend(namespace: String, bytes: Long): Option[FiniteDuration] = filled(namespace): bucket =>
    Option.when(bucket.level >= 0 || bucket.level - bytes >= -burst):
      bucket.level -= bytes
      (bucket.level.min(0) / rate * -1e9).ceil.toLong.nanos

  /** Returns bytes that were not used after all. */
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
