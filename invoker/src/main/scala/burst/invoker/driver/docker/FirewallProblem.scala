package burst.invoker.driver
package docker

import scala.concurrent.duration.FiniteDuration

/** Why the firewall does not admit a container, or may still do so. */
private[driver] enum FirewallProblem extends NetworkProblem:
  case ContainerEnded
  case BackendNotFound(why: String)
  case NotAdmitted(why: String)

  /** The process could not be restarted to set its rules again. */
  case NotRenewed(why: String)
  case Silent(within: FiniteDuration)

  def sentence: String = this match
    case ContainerEnded => "the pack's container has ended"
    case BackendNotFound(why) => s"its backend is not found: $why"
    case NotAdmitted(why) => s"the pack cannot be given its network: $why"
    case NotRenewed(why) => why
    case Silent(within) => s"the firewall has not answered within $within"
