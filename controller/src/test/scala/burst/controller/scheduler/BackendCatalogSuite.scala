package burst.controller.scheduler

import com.typesafe.config.ConfigFactory
import munit.FunSuite

class BackendCatalogSuite extends FunSuite:
  private val catalog = BackendCatalog.from(ConfigFactory.parseString("""burst.scheduler {
    default-backend = cache
    backends {
      cache { kind = redis-list, uri = "redis://:password@host" }
      lab { kind = redis-list, uri = "redis://host", shared-credentials = true }
    }
  }"""))

  test("flares are told the platform's own address only where the operator says so"):
    def shared(name: String) = catalog.find(name, None).map(_.sharedCredentials)
    assertEquals(shared("cache"), Some(false))
    assertEquals(shared("lab"), Some(true))
    assertEquals(shared("pigeons"), None)
