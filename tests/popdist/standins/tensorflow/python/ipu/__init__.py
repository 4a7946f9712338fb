from . import config as config
