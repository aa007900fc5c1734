package burst.simulator

import burst.node.MonotonicTime
import burst.node.metrics.Seconds
import com.sun.management.OperatingSystemMXBean
import java.lang.management.ManagementFactory

/** The cost of something: seconds of wall-clock time, and of CPU time, all threads together. */
final case class Cost(seconds: Double, processor: Double):
  def +(other: Cost): Cost = Cost(seconds + other.seconds, processor + other.processor)
  def each(count: Int): Cost = Cost(seconds / count, processor / count)
  def millis: Double = seconds * 1e3
  def processorMillis: Double = processor * 1e3

object Cost:
  private val machine = ManagementFactory.getPlatformMXBean(classOf[OperatingSystemMXBean])
  private val memory = ManagementFactory.getMemoryMXBean

  def of[A](work: => A): (Cost, A) =
    val (begin, used) = (MonotonicTime.now(), machine.getProcessCpuTime)
    val outcome = work
    (Cost(Seconds.since(begin), (machine.getProcessCpuTime - used) / 1e9), outcome)

  /** Bytes of the heap that are in use after a collection. */
  def heap(): Long =
    System.gc()
    memory.getHeapMemoryUsage.getUsed

  /** Runnable processes, on average over the last minute. */
  def load(): Double = machine.getSystemLoadAverage
