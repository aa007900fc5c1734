package burst.invoker.driver
package docker

import scala.concurrent.duration.FiniteDuration

/** Why the firewall does not let a container through, or still may. */
private[driver] enum FirewallProblem extends NetworkProblem:
  case ContainerEnded
  case BackendNotFound(why: String)
  case NotAdmitted(why: String)

  /** Another process for its rules did not begin. */
  case NotRenewed(why: String)
  case Silent(within: FiniteDuration)

  def sentence: String = this match
    case ContainerEnded => "the pack's container has ended"
    case BackendNotFound(why) => s"its backend is not found: $why"
    case NotAdmitted(why) => s"the pack cannot be given its network: $why"
    case NotRenewed(why) => why
    case Silent(within) => s"the firewall has not answered within $within"
