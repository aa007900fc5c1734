package burst.invoker.runtime

import scala.concurrent.duration.DurationInt

/** Provides connections and a scripted peer; both are closed with the test. */
private[runtime] trait WithPeer extends munit.FunSuite:
  override def munitTimeout = 3.minutes

  protected def both(name: String)(body: (RuntimeConnections, Peer) => Unit)(using munit.Location): Unit =
    test(name):
      val connections = RuntimeConnections(RuntimeConnectionsSuite.TestTimeout)
      val peer = Peer()
      try body(connections, peer)
      finally
        connections.close()
        peer.close()
