package burst.controller.http.connection

import burst.node.SetupException
import com.typesafe.config.Config
import scala.concurrent.duration.FiniteDuration
import scala.jdk.DurationConverters.*

/** `burst.http.connections`: how many connections are allowed, and how long they may be inactive. */
final case class ConnectionLimits(
    most: Int,
    perClient: Int,
    header: FiniteDuration,
    headerSize: Long,
    keepAlive: FiniteDuration,
    stall: FiniteDuration
):
  /** Lowers the limits to half of the process's file descriptors: the rest is for files and connections of
    * the platform itself.
    */
  def within(descriptors: Long): ConnectionLimits =
    val most = this.most.toLong.min(descriptors / 2).max(1).toInt
    copy(most = most, perClient = perClient.min(most))

object ConnectionLimits:
  private val Path = "burst.http.connections"

  /** Reads the limits. Throws `SetupException`. */
  def from(config: Config): ConnectionLimits =
    val connections = config.getConfig(Path)
    def atLeastOne(key: String): Int = positive(key, connections.getInt(key))(_ > 0)
    def duration(key: String): FiniteDuration =
      positive(key, connections.getDuration(key).toScala)(_.toMillis > 0)
    ConnectionLimits(
      atLeastOne("limit"),
      atLeastOne("per-client"),
      duration("header-timeout"),
      connections.getBytes("header-size"),
      duration("keep-alive"),
      duration("stall-timeout")
    )

  private def positive[A](key: String, value: A)(holds: A => Boolean): A =
    if holds(value) then value else throw SetupException(s"$Path.$key must be more than 0.")
