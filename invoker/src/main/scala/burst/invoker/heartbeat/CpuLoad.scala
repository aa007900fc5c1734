package burst.invoker.heartbeat

import java.lang.management.ManagementFactory

/** How busy the machine is, from 0 to 1, since it was asked last. */
trait CpuLoad:
  def sample(): Double

object CpuLoad:
  /** As the operating system tells the JVM; 0 where it does not. */
  def ofMachine(): CpuLoad = ManagementFactory.getOperatingSystemMXBean match
    case bean: com.sun.management.OperatingSystemMXBean =>
      () =>
        val load = bean.getCpuLoad
        if load.isNaN then 0.0 else load.max(0.0).min(1.0)
    case _ => () => 0.0
