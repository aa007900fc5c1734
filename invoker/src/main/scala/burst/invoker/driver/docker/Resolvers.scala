package burst.invoker.driver
package docker

import java.net.{Inet4Address, InetAddress}
import java.nio.file.{Files, Path}
import scala.jdk.CollectionConverters.*
import scala.util.Try

/** The name servers for containers: those of this machine, as Docker finds them. If one listens only on this
  * machine, Docker queries it on the containers' behalf.
  */
private[driver] object Resolvers:
  private val Candidates = Vector("/etc/resolv.conf", "/run/systemd/resolve/resolv.conf")
  private val Server = """\s*nameserver\s+([0-9.]+)\s*""".r

  def ofMachine(): Vector[String] =
    Candidates.iterator.map(file => in(Path.of(file))).find(_.nonEmpty).getOrElse(Vector.empty)

  private[driver] def in(file: Path): Vector[String] =
    Try(Files.readAllLines(file).asScala.toVector).getOrElse(Vector.empty).collect:
      case Server(address) if !address.startsWith("127.") => address

  /** The addresses of a host, as containers can reach them. Blocks. Throws `UnknownHostException`. */
  def addresses(host: String): Vector[String] =
    InetAddress.getAllByName(host).toVector.collect { case address: Inet4Address => address.getHostAddress }
