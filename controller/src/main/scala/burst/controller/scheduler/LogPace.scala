package burst.controller.scheduler

import java.util.concurrent.ConcurrentHashMap

/** How fast the flares of a namespace may log together: a bucket of `burst` bytes for each, which fills up by
  * `rate` bytes a second. All namespaces write to one database; none may keep it to itself. `clock` is in
  * nanoseconds.
  */
final class LogPace(rate: Long, burst: Long, clock: () => Long = () => System.nanoTime()):
  private val buckets = ConcurrentHashMap[String, LogPace.Bucket]()

  /** Takes so many bytes off, if they are there. */
  def take(namespace: String, bytes: Long): Boolean =
    buckets.computeIfAbsent(namespace, _ => LogPace.Bucket(burst.toDouble, clock())).take(bytes)

  extension (bucket: LogPace.Bucket)
    private def take(bytes: Long): Boolean = bucket.synchronized:
      val now = clock()
      bucket.level = (bucket.level + (now - bucket.filled).max(0) * (rate / 1e9)).min(burst.toDouble)
      bucket.filled = now
      val there = bucket.level >= bytes
      if there then bucket.level -= bytes
      there

object LogPace:
  def apply(settings: SchedulerSettings): LogPace =
    new LogPace(settings.namespaceLogRate, settings.namespaceLogBurst)

  private final class Bucket(var level: Double, var filled: Long)
