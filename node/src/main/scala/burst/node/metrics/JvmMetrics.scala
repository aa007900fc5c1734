package burst.node.metrics

import com.sun.management.{OperatingSystemMXBean, UnixOperatingSystemMXBean}
import java.lang.management.{ManagementFactory, MemoryUsage}
import scala.jdk.CollectionConverters.*

/** The JVM's data about itself and its process, read on each scrape. The JVM's version is deliberately not
  * shown.
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
    shown("jvm_memory_used_bytes", "Used memory of the JVM.")(_.getUsed)
    shown("jvm_memory_committed_bytes", "Committed memory of the JVM.")(_.getCommitted)
    shown("jvm_memory_max_bytes", "Maximum memory of the JVM; -1 if unlimited.")(_.getMax)

  private def collections(metrics: MetricsRegistry): Unit =
    val beans = ManagementFactory.getGarbageCollectorMXBeans.asScala.toVector
    metrics.readCounter("jvm_gc_collections", "Garbage collections.", "gc"): callback =>
      beans.foreach(bean => callback.call(bean.getCollectionCount.max(0).toDouble, bean.getName))
    metrics.readCounter("jvm_gc_seconds", "Time spent in garbage collection.", "gc"): callback =>
      beans.foreach(bean => callback.call(bean.getCollectionTime.max(0) / 1e3, bean.getName))

  private def threads(metrics: MetricsRegistry): Unit =
    val bean = ManagementFactory.getThreadMXBean
    metrics.readGauge("jvm_threads_current", "Current number of threads.")(_.call(bean.getThreadCount))
    metrics.readGauge(
      "jvm_threads_peak",
      "Peak number of threads."
    )(_.call(bean.getPeakThreadCount))

  private def process(metrics: MetricsRegistry): Unit =
    val started = ManagementFactory.getRuntimeMXBean.getStartTime / 1e3
    metrics.readGauge("process_start_time_seconds", "Start time of the process.")(_.call(started))
    ManagementFactory.getOperatingSystemMXBean match
      case bean: OperatingSystemMXBean =>
        metrics.readCounter(
          "process_cpu_seconds",
          "Processor time used."
        )(_.call(bean.getProcessCpuTime / 1e9))
        bean match
          case files: UnixOperatingSystemMXBean =>
            metrics.readGauge(
              "process_open_fds",
              "Open file descriptors."
            )(_.call(files.getOpenFileDescriptorCount.toDouble))
            metrics.readGauge("process_max_fds", "Maximum number of open file descriptors.")(
              _.call(files.getMaxFileDescriptorCount.toDouble)
            )
          case _ => ()
      case _ => ()
