package burst.invoker.driver
package kubernetes

import scala.concurrent.duration.FiniteDuration

/** Why a pod is not up. An `obstacle` is what keeps it, as far as that is known. */
private[driver] enum PodProblem:
  case Deleted
  case Ended(exit: ContainerExit)

  /** It waits, by the words of Kubernetes, for what will not come. */
  case Hopeless(told: String)
  case Late(within: FiniteDuration, obstacle: Option[String])

  /** Its node did not take it. */
  case Unplaced(node: String, within: FiniteDuration, obstacle: Option[String])
  case Refused(why: String)

  /** Its namespace may not have it now. */
  case OverQuota(why: String)

  /** After "the pack's pod did not come up". */
  def sentence: String = this match
    case Deleted => "the pod was deleted"
    case Ended(exit) => s"the pod ${exit.how}"
    case Hopeless(told) => told
    case Late(within, obstacle) =>
      s"its runtime did not listen within ${within.toCoarsest}${PodProblem.added(obstacle)}"
    case Unplaced(node, within, obstacle) =>
      s"node $node had no room for it within ${within.toCoarsest}${PodProblem.added(obstacle)}"
    case Refused(why) => s"Kubernetes refused it: $why"
    case OverQuota(why) => s"Kubernetes refused it: $why"

private[driver] object PodProblem:
  /** What Kubernetes says when it refuses one. */
  def refused(why: String): PodProblem =
    if why.contains("exceeded quota") then OverQuota(why) else Refused(why)

  private def added(obstacle: Option[String]): String = obstacle.fold("")(reason => s": $reason")
