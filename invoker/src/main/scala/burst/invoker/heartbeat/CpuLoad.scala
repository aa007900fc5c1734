package burst.invoker.heartbeat

import java.lang.management.ManagementFactory

/** The load of the machine, from 0 to 1, since the last sample. */
trait CpuLoad:
  def sample(): Double

object CpuLoad:
  /** As reported by the operating system to the JVM; 0 if it is not. */
  def ofMachine(): CpuLoad = ManagementFactory.getOperatingSystemMXBean match
    case bean: com.sun.management.OperatingSystemMXBean =>
      () =>
        val load = bean.getCpuLoad
        if load.isNaN then 0.0 else load.max(0.0).min(1.0)
    case _ => () => 0.0
