package burst.controller.cluster

import burst.controller.store.LockMode

/** What a controller does next to be a member of the one cluster there is.
  *
  * Who founds it is up to the database: every member holds a share of a lock there, so that a controller that
  * gets the whole lock knows that nobody is a member. It founds, and keeps a share. One that does not get it
  * knows that somebody is a member, silent though they may be, and goes on looking for them.
  */
private[cluster] enum BootstrapStep:
  /** Look on for others. */
  case Probe

  /** Try to take the whole lock. */
  case ClaimLock

  /** Be the first member. */
  case SelfJoin

  /** Take a share of the lock. */
  case ShareLock

  /** A member, and the database knows. */
  case Joined

private[cluster] object BootstrapStep:
  /** @param member
    *   whether this controller is a member, be it but a joining one
    * @param held
    *   what it holds of the lock
    * @param patient
    *   whether others may still have their time to answer
    */
  def next(member: Boolean, held: Option[LockMode], patient: Boolean): BootstrapStep = (member, held) match
    case (true, Some(LockMode.Shared)) => Joined
    case (true, _) => ShareLock
    case (false, Some(LockMode.Exclusive)) => SelfJoin
    case (false, _) => if patient then Probe else ClaimLock
