package burst.controller.cluster

import burst.controller.store.LockMode

/** A controller's next step towards becoming a member of the only cluster.
  *
  * The database decides who founds it: every member holds a share of a lock there, so a controller that gets
  * the whole lock knows that there is no member. It founds the cluster, and keeps a share. A controller that
  * does not get the lock knows that there is a member, even if none answers, and keeps looking for it.
  */
private[cluster] enum BootstrapStep:
  /** Keep looking for others. */
  case Probe

  /** Try to take the whole lock. */
  case ClaimLock

  /** Be the first member. */
  case SelfJoin

  /** Take a share of the lock. */
  case ShareLock

  /** This controller is a member, and the database knows. */
  case Joined

private[cluster] object BootstrapStep:
  /** @param member
    *   whether this controller is a member, if only a joining one
    * @param held
    *   its hold on the lock
    * @param patient
    *   whether others still have time to answer
    */
  def next(member: Boolean, held: Option[LockMode], patient: Boolean): BootstrapStep = (member, held) match
    case (true, Some(LockMode.Shared)) => Joined
    case (true, _) => ShareLock
    case (false, Some(LockMode.Exclusive)) => SelfJoin
    case (false, _) => if patient then Probe else ClaimLock
