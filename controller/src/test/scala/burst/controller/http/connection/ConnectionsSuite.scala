package burst.controller.http.connection

import burst.controller.http.connection.Connection.End
import java.net.InetAddress
import org.apache.pekko.http.scaladsl.model.{HttpRequest, HttpResponse}
import scala.concurrent.duration.DurationInt
import scala.util.Success

class ConnectionsSuite extends munit.FunSuite:
  private val limits = ConnectionLimits(most = 4, perClient = 3, 1.hour, 1000, 1.hour, 1.hour)
  private val (ann, bob, eve) = (address("10.0.0.1"), address("10.0.0.2"), address("10.0.0.3"))

  private def address(text: String) = InetAddress.getByName(text)

  private def isCut(connection: Connection) = connection.end.value == Option(Success(End.Cut))

  extension (connections: Connections)
    private def one(client: InetAddress): Connection =
      connections.admit(client).getOrElse(fail("it was refused"))

    /** On which a request of one with credentials is under way. */
    private def busy(client: InetAddress): Connection =
      val connection = one(client)
      connection.requested(HttpRequest())
      connection.showed(true)
      connection

    private def resting(client: InetAddress): Connection =
      val connection = busy(client)
      connection.answered(HttpResponse())
      connection

  test("of strangers the one goes that has stood still for longest"):
    val connections = Connections(limits)
    val (first, second, third) = (connections.one(ann), connections.one(bob), connections.one(bob))
    connections.one(ann)
    first.requested(HttpRequest())
    connections.one(eve)
    assertEquals(Seq(first, second, third).map(isCut), Seq(false, true, false))
    connections.one(eve)
    assertEquals(Seq(first, second, third).map(isCut), Seq(false, true, true))
    assertEquals(connections.size, 4)

  test("strangers go before those that rest, and these before nobody"):
    val connections = Connections(limits)
    val rests = connections.resting(ann)
    val stranger = connections.one(ann)
    val works = connections.busy(bob)
    connections.busy(bob)
    connections.busy(eve)
    assertEquals(Seq(rests, stranger, works).map(isCut), Seq(false, true, false))
    connections.busy(eve)
    assertEquals(Seq(rests, stranger, works).map(isCut), Seq(true, true, false))
    assertEquals(connections.admit(ann), None)
    works.answered(HttpResponse())
    connections.one(ann)
    assert(isCut(works))

  test("a client that has as many as it may gives up one of its own"):
    val connections = Connections(limits)
    val others = connections.one(bob)
    val own = Seq.fill(3)(connections.one(eve))
    connections.one(eve)
    assertEquals((others +: own).map(isCut), Seq(false, true, false, false))
    val busy = Connections(limits)
    Seq.fill(3)(busy.busy(eve))
    assertEquals(busy.admit(eve), None)
    busy.one(ann)

  test("a connection whose credentials were revoked counts as a stranger's again"):
    val connections = Connections(limits)
    val works = Seq.fill(2)(connections.busy(ann)) ++ Seq.fill(2)(connections.busy(bob))
    works(2).showed(false)
    connections.one(eve)
    assertEquals(works.map(isCut), Seq(false, false, true, false))

  test("room is made by those that end, and nothing is kept of them"):
    val connections = Connections(limits)
    (1 to 100).foreach: _ =>
      val works = Seq.fill(3)(connections.busy(ann))
      assertEquals(connections.admit(ann), None)
      works.foreach(_.gone())
      works.foreach(_.gone())
      works.foreach(_.answered(HttpResponse()))
    assertEquals(connections.size, 0)

  test("a network of IPv6 is one client"):
    val connections = Connections(limits)
    Seq("2001:db8::1", "2001:db8::2:1", "2001:db8::ffff").foreach(text => connections.busy(address(text)))
    assertEquals(connections.admit(address("2001:db8::7")), None)
    connections.busy(address("2001:db8:0:1::1"))

  test("when all are to end, those at rest do at once, and others with their answers"):
    val connections = Connections(limits)
    val (rests, works) = (connections.resting(ann), connections.busy(ann))
    val closed = connections.close()
    assertEquals(rests.end.value, Option(Success(End.Finish)))
    assertEquals(works.end.value, None)
    assertEquals(works.answered(HttpResponse()).headers.map(_.value), Seq("close"))
    assertEquals(connections.admit(bob), None)
    Seq(rests, works).foreach(_.gone())
    assert(closed.isCompleted)

  test("a process that may open few files takes few connections"):
    assertEquals(limits.within(6), limits.copy(most = 3, perClient = 3))
    assertEquals(limits.within(4), limits.copy(most = 2, perClient = 2))
    assertEquals(limits.within(1_000_000), limits)
