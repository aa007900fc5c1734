package burst.node.metrics

import com.sun.management.{OperatingSystemMXBean, UnixOperatingSystemMXBean}
import java.lang.management.{ManagementFactory, MemoryUsage}
import scala.jdk.CollectionConverters.*

/** What the JVM knows of itself and its process, read when somebody asks. Which JVM it is, is nobody's
  * business.
  */
private[metrics] object JvmMetrics:
  def register(metrics: MetricsRegistry): Unit =
    memory(metrics)
    collections(metrics)
    threads(metrics)
    process(metrics)

  private def memory(metrics: MetricsRegistry): Unit =
    val bean = ManagementFactory.getMemoryMXBean
    def shown(name: String, help: String)(of: MemoryUsage => Long): Unit =
      metrics.readGauge(name, help, "area"): callback =>
        for (area, usage) <- Seq("heap" -> bean.getHeapMemoryUsage, "nonheap" -> bean.getNonHeapMemoryUsage)
        do callback.call(of(usage).toDouble, area)
    shown("jvm_memory_used_bytes", "Memory that the JVM uses.")(_.getUsed)
    shown("jvm_memory_committed_bytes", "Memory that the JVM has.")(_.getCommitted)
    shown("jvm_memory_max_bytes", "Memory that the JVM may have; -1 where nobody has said.")(_.getMax)

  private def collections(metrics: MetricsRegistry): Unit =
    val beans = ManagementFactory.getGarbageCollectorMXBeans.asScala.toVector
    metrics.readCounter("jvm_gc_collections", "Collections of garbage.", "gc"): callback =>
      beans.foreach(bean => callback.call(bean.getCollectionCount.max(0).toDouble, bean.getName))
    metrics.readCounter("jvm_gc_seconds", "Time of collections of garbage.", "gc"): callback =>
      beans.foreach(bean => callback.call(bean.getCollectionTime.max(0) / 1e3, bean.getName))

  private def threads(metrics: MetricsRegistry): Unit =
    val bean = ManagementFactory.getThreadMXBean
    metrics.readGauge("jvm_threads_current", "Threads.")(_.call(bean.getThreadCount))
    metrics.readGauge(
      "jvm_threads_peak",
      "Most threads there have been at once."
    )(_.call(bean.getPeakThreadCount))

  private def process(metrics: MetricsRegistry): Unit =
    val started = ManagementFactory.getRuntimeMXBean.getStartTime / 1e3
    metrics.readGauge("process_start_time_seconds", "When the process began.")(_.call(started))
    ManagementFactory.getOperatingSystemMXBean match
      case bean: OperatingSystemMXBean =>
        metrics.readCounter(
          "process_cpu_seconds",
          "Time on processors."
        )(_.call(bean.getProcessCpuTime / 1e9))
        bean match
          case files: UnixOperatingSystemMXBean =>
            metrics.readGauge(
              "process_open_fds",
              "Open files."
            )(_.call(files.getOpenFileDescriptorCount.toDouble))
            metrics.readGauge("process_max_fds", "Files that may be open.")(
              _.call(files.getMaxFileDescriptorCount.toDouble)
            )
          case _ => ()
      case _ => ()
