package burst.controller.cluster

import burst.protocol.{Protocol, Versions}
import com.typesafe.config.{Config, ConfigFactory}
import org.apache.pekko.cluster.{ConfigValidation, Invalid, JoinConfigCompatChecker, Member, Valid}
import org.apache.pekko.util.Version
import scala.collection.immutable
import scala.jdk.CollectionConverters.*

/** Admits controllers to one cluster only if they have a version of the protocol between nodes in common.
  * Pekko runs the check on both sides: on the member that is asked to admit another one, and on the node that
  * wants to join.
  */
final class VersionCheck extends JoinConfigCompatChecker:
  import VersionCheck.*

  def requiredKeys: immutable.Seq[String] = immutable.Seq(Key)

  def check(toCheck: Config, actualConfig: Config): ConfigValidation =
    val (other, own) = (versions(toCheck), versions(actualConfig))
    if own.common(other).isDefined then Valid
    else Invalid(Vector(s"one controller speaks $other of the protocol between nodes, the other one $own"))

object VersionCheck:
  private val Key = "burst.cluster.versions"

  /** The versions assumed of controllers that state none. */
  private val Unsaid = Versions(2, 2)

  /** The message with which a refused controller ends. */
  val Refusal: String =
    s"this controller speaks ${Protocol.Nodes} of the protocol between nodes, and those that are up speak none of " +
      "them: upgrade one release after the other, or stop all controllers first (the log has both versions)."

  def configured(config: Config): Config = ConfigFactory
    .parseMap(
      Map(
        Key -> Protocol.Nodes.range,
        "pekko.cluster.app-version" -> Protocol.Nodes.newest.toString,
        "pekko.cluster.configuration-compatibility-check.checkers.burst-versions" -> classOf[
          VersionCheck
        ].getName
      ).asJava
    )
    .withFallback(config)

  /** Members of a cluster announce the newest version that they speak; this checks for one that knows
    * submission ids.
    */
  def knowsIds(member: Member): Boolean = member.appVersion.compareTo(WithIds) >= 0

  private val WithIds = Version(Protocol.SubmissionIds.toString)

  private def versions(config: Config): Versions =
    if config.hasPath(Key) then Versions.parse(config.getString(Key)).getOrElse(Unsaid) else Unsaid
