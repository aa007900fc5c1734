package burst.invoker.driver
package kubernetes

import scala.concurrent.duration.FiniteDuration

/** Why a pod is not up. An `obstacle` is what delays it, if known. */
private[driver] enum PodProblem:
  case Deleted
  case Ended(exit: ContainerExit)

  /** It waits for something that will not happen, according to Kubernetes. */
  case Unresolvable(message: String)
  case Late(within: FiniteDuration, obstacle: Option[String])

  /** Its node had no room for it. */
  case Unplaced(node: String, within: FiniteDuration, obstacle: Option[String])
  case Refused(why: String)

  /** Its namespace's quota does not allow it now. */
  case OverQuota(why: String)

  /** Follows "the pack's pod did not come up". */
  def sentence: String = this match
    case Deleted => "the pod was deleted"
    case Ended(exit) => s"the pod ${exit.how}"
    case Unresolvable(message) => message
    case Late(within, obstacle) =>
      s"its runtime did not listen within ${within.toCoarsest}${PodProblem.added(obstacle)}"
    case Unplaced(node, within, obstacle) =>
      s"node $node had no room for it within ${within.toCoarsest}${PodProblem.added(obstacle)}"
    case Refused(why) => s"Kubernetes refused it: $why"
    case OverQuota(why) => s"Kubernetes refused it: $why"

private[driver] object PodProblem:
  /** The problem behind Kubernetes' message for a pod that it refuses. */
  def refused(why: String): PodProblem =
    if why.contains("exceeded quota") then OverQuota(why) else Refused(why)

  private def added(obstacle: Option[String]): String = obstacle.fold("")(reason => s": $reason")
