package burst.simulator

import com.sun.management.OperatingSystemMXBean
import java.lang.management.{ManagementFactory, MemoryMXBean}
import java.net.{InetAddress, ServerSocket}
import java.nio.file.Path
import java.util.concurrent.TimeUnit
import javax.management.remote.{JMXConnectorFactory, JMXServiceURL}
import scala.jdk.CollectionConverters.*
import scala.util.Using

/** A controller in a process of its own, started as by an operator, whose resource use can be queried. */
final class ControllerProcess private (
    process: Process,
    connection: ControllerProcess.Management,
    val seed: String
):
  /** Seconds of CPU time since it was started. */
  def processor(): Double = connection.machine.getProcessCpuTime / 1e9

  /** Bytes of its heap after a collection. */
  def heap(): Long =
    connection.memory.gc()
    connection.memory.getHeapMemoryUsage.getUsed

  def stop(): Unit =
    process.destroy()
    if !process.waitFor(1, TimeUnit.MINUTES) then process.destroyForcibly(): Unit

object ControllerProcess:
  private final case class Management(machine: OperatingSystemMXBean, memory: MemoryMXBean)

  private val Loopback = "127.0.0.1"

  /** Starts a controller by the program `burst`, with its data in a directory, and waits until it is ready.
    */
  def start(burst: Path, data: Path): ControllerProcess =
    val (node, management) = (freePort(), freePort())
    val seed = s"$Loopback:$node"
    val builder = ProcessBuilder(
      Vector(burst.toString, "controller", "--port", "0", "--node", seed, "--data", data.toString).asJava
    )
    builder.environment.put("JDK_JAVA_OPTIONS", options(management))
    builder.redirectError(data.resolveSibling("controller.err").toFile)
    val process = builder.start()
    try
      val output = process.inputReader.lines.iterator.asScala
      require(output.exists(_.contains("ready")), "the controller did not start")
      new ControllerProcess(process, connect(management), seed)
    catch
      case problem: Exception =>
        process.destroyForcibly()
        throw problem

  private def options(port: Int): String =
    val remote = "-Dcom.sun.management.jmxremote"
    s"$remote.port=$port $remote.rmi.port=$port $remote.host=$Loopback $remote.authenticate=false $remote.ssl=false " +
      s"-Djava.rmi.server.hostname=$Loopback"

  private def connect(port: Int): Management =
    val url = JMXServiceURL(s"service:jmx:rmi:///jndi/rmi://$Loopback:$port/jmxrmi")
    val server = JMXConnectorFactory.connect(url).getMBeanServerConnection
    Management(
      ManagementFactory.getPlatformMXBean(server, classOf[OperatingSystemMXBean]),
      ManagementFactory.getPlatformMXBean(server, classOf[MemoryMXBean])
    )

  private def freePort(): Int =
    Using.resource(ServerSocket(0, 1, InetAddress.getByName(Loopback)))(_.getLocalPort)
