package burst.node

import java.security.Security
import org.apache.pekko.actor.testkit.typed.scaladsl.ActorTestKit
import org.apache.pekko.actor.typed.scaladsl.adapter.*
import org.apache.pekko.io.Dns
import org.apache.pekko.io.dns.DnsProtocol
import org.apache.pekko.pattern.ask
import org.apache.pekko.util.Timeout
import scala.concurrent.Await
import scala.concurrent.duration.DurationInt

class NameCacheSuite extends munit.FunSuite:
  override def munitTimeout = 3.minutes

  test("addresses of names are soon looked up again, also by Pekko, which by default keeps them for 30 s"):
    NameCache.shorten()
    NameCache.Times.foreach((key, seconds) => assertEquals(Security.getProperty(key), seconds))
    val kit = ActorTestKit()
    try
      val system = kit.system.toClassic
      val localhost = DnsProtocol.Resolve("localhost", DnsProtocol.Ip())
      given Timeout = Timeout(20.seconds)
      val _ = Await.result(Dns(system).manager ? localhost, 20.seconds)
      kit.createTestProbe[Any]().awaitAssert(assertEquals(Dns.cached(localhost)(system), None), 20.seconds)
    finally kit.shutdownTestKit()
